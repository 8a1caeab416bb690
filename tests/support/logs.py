"""What was logged during a test."""

from __future__ import annotations

import logging

import pytest


def messages(caplog: pytest.LogCaptureFixture, level: int = logging.NOTSET) -> list[str]:
    """
    Return the messages from a level on.

    Without those of asyncio about futures that an earlier test left behind: they come when these are collected.
    """
    texts = [record.getMessage() for record in caplog.records if record.levelno >= level]
    return [text for text in texts if "exception was never retrieved" not in text]
