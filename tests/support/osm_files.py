"""OpenStreetMap XML of a few ways and relations, written out in the test that reads it."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

Way = tuple[int, str, str]
Relation = tuple[int, str, str]


def osm_xml(
    nodes: dict[int, tuple[float, float]],
    ways: Iterable[Way],
    relations: Iterable[Relation] = (),
    node_tags: dict[int, str] | None = None,
    head: str = "",
) -> bytes:
    """Write OSM XML. Ways are (id, "node node …", "key=value …"), members of relations "w10@from n5@via"."""
    body = [
        f'<node id="{ref}" version="1" lon="{lng}" lat="{lat}">{tags_xml((node_tags or {}).get(ref, ""))}</node>'
        for ref, (lng, lat) in nodes.items()
    ]
    for ref, refs, text in ways:
        nodes_xml = "".join(f'<nd ref="{node}"/>' for node in refs.split())
        body.append(f'<way id="{ref}" version="1">{nodes_xml}{tags_xml(text)}</way>')
    kinds = {"n": "node", "w": "way", "r": "relation"}
    for ref, member_text, text in relations:
        members = "".join(
            f'<member type="{kinds[m[0]]}" ref="{m[1:].partition("@")[0]}" role="{m.partition("@")[2]}"/>'
            for m in member_text.split()
        )
        body.append(f'<relation id="{ref}" version="1">{members}{tags_xml(text)}</relation>')
    return f'<?xml version="1.0" encoding="UTF-8"?><osm version="0.6">{head}{"".join(body)}</osm>'.encode()


def tags_xml(text: str) -> str:
    """Write tags "key=value|key=value" or, without bars, separated by spaces."""
    pairs = (pair.split("=", 1) for pair in (text.split("|") if "|" in text else text.split()))
    return "".join(f"<tag k={quoteattr(k)} v={quoteattr(v)}/>" for k, v in pairs)
