"""
Authentication by pairs of application id and API key.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable, Mapping

from traveltime_lab._files import as_path, explained, is_file, read_bytes
from traveltime_lab.errors import InputError, MissingFileError

#: Environment variable that holds pairs, one to a line or separated by commas.
VARIABLE = "TRAVELTIME_LAB_CREDENTIALS"


class Credentials:
    """
    Accepted pairs, kept as digests: a memory dump or a repr shows no key.

    Parameters
    ----------
    pairs : iterable of (str, str)
        Application ids and API keys, none of them empty.

    Raises
    ------
    InputError
        If there is no pair or one has an empty part.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        listed = list(pairs)
        if not listed or not all(len(pair) == 2 and all(pair) for pair in listed):
            raise InputError("credentials must be pairs of an application id and an API key, both not empty")
        self._salt = secrets.token_bytes(16)
        self._digests = [self._digest(*pair) for pair in listed]

    def __repr__(self) -> str:
        """Return how many pairs there are."""
        return f"<Credentials of {len(self._digests)} pairs>"

    def _digest(self, app_id: str, api_key: str) -> bytes:
        name, key = (part.encode("utf-8", "surrogateescape") for part in (app_id, api_key))
        return hashlib.blake2b(name + b"\0" + key, key=self._salt, salt=len(name).to_bytes(16, "little")).digest()

    def accept(self, app_id: str | None, api_key: str | None) -> bool:
        """Return whether a pair is known, in a time that does not depend on how nearly it is."""
        given = self._digest(app_id or "", api_key or "")
        matches = [hmac.compare_digest(given, digest) for digest in self._digests]
        return any(matches) and bool(app_id) and bool(api_key)


def generate_pair() -> tuple[str, str]:
    """Return a new application id and API key."""
    return secrets.token_hex(4), secrets.token_hex(16)


def parse_pair(text: str) -> tuple[str, str]:
    """
    Return the pair that ``ID:KEY`` means.

    Raises
    ------
    InputError
        If it is not of this form; the text itself is not shown.
    """
    app_id, colon, api_key = text.strip().partition(":")
    if not (colon and app_id and api_key):
        raise InputError("credentials must be written ID:KEY, with neither part empty")
    return app_id, api_key


def find_pairs(
    flags: Iterable[str] = (), file: str | os.PathLike[str] | None = None, environment: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """
    Return the configured pairs: those of flags, of a file and of the environment together.

    Parameters
    ----------
    flags : iterable of str
        ``ID:KEY`` each.
    file : path-like, optional
        One ``ID:KEY`` to a line; empty lines and those that begin with ``#`` are skipped.
    environment : mapping, optional
        Default: that of the process.

    Raises
    ------
    InputError
        If one of them cannot be read as a pair.
    MissingFileError, FileAccessError
        If there is no such file, or it cannot be read.
    """
    texts = list(flags)
    if file is not None:
        path = as_path(file, "file")
        if not is_file(path):
            raise MissingFileError(f"no credentials file at {path}")
        with explained(path, "read"):
            content = read_bytes(path)
        try:
            lines = content.decode("utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            msg = f"{path} is not in UTF-8 ({error.reason} at byte {error.start:,}); save it in UTF-8"
            raise InputError(msg) from error
        texts += [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    configured = (os.environ if environment is None else environment).get(VARIABLE, "")
    texts += [text for text in configured.replace("\n", ",").split(",") if text.strip()]
    return [parse_pair(text) for text in texts]


def text_of(octets: bytes) -> str:
    """
    Return the text of an application id or API key as a client sent it.

    HTTP defines no encoding of header values. Clients send UTF-8 or Latin-1, and Latin-1 text with letters other than
    ASCII is hardly ever valid UTF-8.
    """
    try:
        return octets.decode("utf-8")
    except UnicodeDecodeError:
        return octets.decode("latin-1")


def header_text(headers: Mapping[str, str], name: str) -> str | None:
    """Return the value of a header, decoded as Latin-1, as `text_of` reads it; None if it is missing."""
    value = headers.get(name)
    return None if value is None else text_of(value.encode("latin-1"))


def basic_pair(header: str | None) -> tuple[str | None, str | None]:
    """Return user and password of an Authorization header, (None, None) if it is not of the Basic scheme."""
    scheme, _, encoded = (header or "").strip().partition(" ")
    if scheme.lower() != "basic":
        return None, None
    try:
        user, colon, password = text_of(base64.b64decode(encoded.strip(), validate=True)).partition(":")
    except binascii.Error:
        return None, None
    return (user, password) if colon else (None, None)
