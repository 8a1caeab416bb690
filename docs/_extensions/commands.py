"""
Brings the commands and their options into the page that has the line `MARK`, from the parser of the command line.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: Line of a page in whose place the commands are.
MARK = "<!-- commands -->"
#: Characters of a line of code that pages show without scrolling.
COLUMNS = 72


def page(parser: argparse.ArgumentParser) -> str:
    """Return the commands of a parser as Markdown: a section each, with a table of arguments for each group."""
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    sections = []
    for name, command in commands.choices.items():
        parts = [f"## {name}"]
        if command.description:
            parts.append(_text(command.description))
        else:
            summary = next(each.help for each in commands._choices_actions if each.dest == name) or ""
            parts.append(f"{_text(summary)[:1].upper()}{_text(summary)[1:]}.")
        parts.append(f"```console\n{_usage(command)}\n```")
        for group in command._action_groups:
            rows = [_row(command, action) for action in group._group_actions if action.dest != "help"]
            if rows:
                title = (group.title or "").capitalize()
                parts.append("\n".join([f"| {title} | |", "|---|---|", *rows]))
        sections.append("\n\n".join(parts))
    return "\n\n".join(sections)


def _usage(command: argparse.ArgumentParser) -> str:
    """Return how a command is called, in lines that continue each other; arguments keep their values beside them."""
    usage = re.sub(r"\s+", " ", command.format_usage().removeprefix("usage: ")).strip()
    parts = re.findall(r"\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]|--[\w-]+ \S+|\S+", usage)
    joined = textwrap.wrap(
        " ".join(part.replace(" ", "\0") for part in parts),
        COLUMNS - 2,  # of the blank and the backslash
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return " \\\n".join(joined).replace("\0", " ")


def _row(command: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Return the row of an argument."""
    value = "" if action.nargs == 0 else command._get_formatter()._format_args(action, str(action.metavar or ""))
    if action.choices is not None and action.metavar is None:
        value = f"{{{','.join(map(str, action.choices))}}}"
    names = ", ".join(action.option_strings)
    shown = f"{names} {value}".strip()
    text = command._get_formatter()._expand_help(action) if action.help else ""
    return f"| `{shown}` | {_text(text)} |"


def _text(text: str) -> str:
    """Return a text without what Markdown takes for markup."""
    escaped = re.sub(r"([*_<>|\[\]{}$\\])", r"\\\1", " ".join(text.replace("%%", "%").split()))
    return re.sub(r"(?<!\S)(--[\w-]+)", r"`\1`", escaped)  # two hyphens would become a dash


def _insert(_app: Sphinx, _page: str, source: list[str]) -> None:
    if f"\n{MARK}\n" in source[0]:
        from traveltime_lab import cli

        source[0] = source[0].replace(MARK, page(cli._parser()))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", _insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
