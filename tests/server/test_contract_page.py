"""The page docs/contract.md: its examples run, its sections are those that the code cites."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.door import Door
from traveltime_lab.server.endpoints.table import ENDPOINTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")

#: An example is a line "Request: `METHOD /path`", a fence with the body unless the method is GET, a line "Answer:" and
#: a fence with the answer. Bodies of Protocol Buffers are hexadecimal digits with comments.
EXAMPLE = re.compile(
    r"^Request: `(?P<method>GET|POST) (?P<path>/\S+)`"
    r"(?: with `Accept: (?P<accept>[^`]+)`)?(?:, refused with (?P<status>\d+))?\n"
    r"(?:```(?:json|text)\n(?P<body>.*?)^```\n)?\n"
    r"Answer(?:, shortened)?:\n```(?:json|text)\n(?P<answer>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
EXAMPLES = list(EXAMPLE.finditer(PAGE))


def keys(value: Any, path: str = "") -> set[str]:
    """Return the paths of all keys in a JSON value; items of one array share theirs."""
    if isinstance(value, dict):
        return set().union(*({f"{path}.{key}"} | keys(item, f"{path}.{key}") for key, item in value.items()))
    if isinstance(value, list):
        return set().union(*(keys(item, f"{path}[]") for item in value))
    return set()


def message(text: str) -> bytes:
    """Return the bytes of hexadecimal digits with comments."""
    return bytes.fromhex("".join(line.partition("#")[0] for line in text.splitlines()))


def test_no_example_escapes() -> None:
    assert len(EXAMPLES) == PAGE.count("\nRequest: ") > 10
    assert PAGE.count("\n```json\n") == sum(match[0].count("\n```json\n") for match in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=[f"{match['method']}{match['path'][:40]}" for match in EXAMPLES])
def test_examples(door: Door, example: re.Match[str]) -> None:
    """Each request gets the status that the page says, and an answer with the keys that the page shows."""
    method, path, body = example["method"], example["path"], example["body"]
    if path.startswith("/v4/"):
        response = door(method, path, body=None if body is None else body.encode(), accept=example["accept"])
        assert response.status_code == int(example["status"] or 200), response.text
        assert keys(json.loads(example["answer"])) == keys(response.json())
    else:
        response = door.proto(path, message(body))
        assert response.status_code == 200, response.text
        # The first byte names the field that holds all of the answer.
        assert response.content[:1] == message(example["answer"])[:1]


def test_every_endpoint_has_a_section() -> None:
    for endpoint in ENDPOINTS:
        assert re.search(rf"^### 7\.\d+ {endpoint.method} `{endpoint.path}`$", PAGE, re.MULTILINE), endpoint.path


def test_cited_sections_exist() -> None:
    """What the code cites as "docs/contract.md, 3.9" is a heading, or an item of a numbered list."""
    known = set(re.findall(r"^#+ (\d+(?:\.\d+)*)\.? ", PAGE, re.MULTILINE))
    items = PAGE.partition("\n## 14. ")[2].partition("\n## 15. ")[0]
    known |= {f"14.{number}" for number in re.findall(r"^(\d+)\. ", items, re.MULTILINE)}
    cited = 0
    for source in [*ROOT.glob("traveltime_lab/**/*.py"), *ROOT.glob("traveltime_lab/**/*.proto")]:
        text = source.read_text(encoding="utf-8")
        for found in re.findall(r"docs/contract\.md,\s(\d+(?:\.\d+)*)", text):
            assert found in known, f"{source.name} cites section {found}, which docs/contract.md does not have"
            cited += 1
        other = re.search(r"[Cc]ontract,?\s(?:section\s)?\(?\d.*", text)
        assert other is None, f"{source.name}: cite sections as in 'docs/contract.md, 3.9', not {other and other[0]!r}"
    assert cited > 20
