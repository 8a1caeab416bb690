"""OpenStreetMap XML of a few ways and relations, written out in the test that reads it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Item:
    """An object as it is in a file; attributes that are None are not written."""

    kind: str
    ref: int
    nodes: str = ""  # of a way; of a relation its members, such as "w10@from n5@via"
    tags: str = ""
    lng: float | None = None
    lat: float | None = None
    version: int | None = 1
    visible: str | None = None
    action: str | None = None

    def xml(self) -> str:
        """Write the object."""
        given = {"id": self.ref, "version": self.version, "lon": self.lng, "lat": self.lat}
        given |= {"visible": self.visible, "action": self.action}
        attributes = "".join(f" {key}={quoteattr(str(value))}" for key, value in given.items() if value is not None)
        inside = [f'<nd ref="{node}"/>' for node in self.nodes.split()] if self.kind == "way" else []
        if self.kind == "relation":
            kinds = {"n": "node", "w": "way", "r": "relation"}
            parts = [member.partition("@") for member in self.nodes.split()]
            inside = [f'<member type="{kinds[ref[0]]}" ref="{ref[1:]}" role="{role}"/>' for ref, _, role in parts]
        return f"<{self.kind}{attributes}>{''.join(inside)}{tags_xml(self.tags)}</{self.kind}>"


def items_xml(items: Iterable[Item]) -> bytes:
    """Write OSM XML of objects in this order."""
    body = "".join(item.xml() for item in items)
    return f'<?xml version="1.0" encoding="UTF-8"?><osm version="0.6">{body}</osm>'.encode()


def last_versions(items: Iterable[Item]) -> list[Item]:
    """Return each object once, in its last version and without deleted ones, sorted by type and id."""
    last: dict[tuple[int, int], Item] = {}
    for item in items:
        key = ("node", "way", "relation").index(item.kind), item.ref
        if key not in last or (item.version or 0) >= (last[key].version or 0):
            last[key] = item
    return [last[key] for key in sorted(last) if last[key].visible != "false" and last[key].action != "delete"]
