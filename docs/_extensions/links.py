"""
Links the public names that pages mention to their reference, in text and in code, and checks the links of the site.

In text, code such as ``time_map``, ``tl.time_map(network, homes)``, ``network.report()`` or ``Network.save`` is a link,
and so is the path of a notebook. In blocks of code, the names of functions, classes and methods are.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PACKAGE = "traveltime_lab"
#: Pages in which plain words, such as ``routes``, are keys of JSON.
WIRE = ("contract", "service")
#: A name, after the name of the package, of a class or of a variable, if any; and whether it is called.
_NAMED = re.compile(r"(?<![\w.\"'/-])(?:(\w+)\.)?([A-Za-z_]\w*)(?:\.([a-z_]\w*))?(\()?")
_ASSIGNED = re.compile(r"^[ \t]*(?:>>> )?(\w+)(?:[ \t]*,[ \t]*\w+)*[ \t]*=(?!=)", re.MULTILINE)
_CREATED = re.compile(r"^[ \t]*(?:>>> )?(\w+)[ \t]*=[ \t]*(\w+)\.(\w+)\(", re.MULTILINE)
_NOTEBOOK = re.compile(r"notebooks/([\w-]+)\.ipynb")
#: A block of highlighted code, and in it an attribute of a name, or a class.
_BLOCK = re.compile(r'<div class="highlight">.*?</pre>', re.DOTALL)
_ATTRIBUTE = re.compile(
    r'(?P<before><span class="n">(?P<owner>\w+)</span><span class="o">\.</span>)<span class="n">(?P<name>\w+)</span>'
)
_CLASS = re.compile(r'(?<!</span><span class="o">\.</span>)<span class="n">(?P<name>[A-Z]\w+)</span>')
_COMMENT = re.compile(r'<span class="c1">.*?</span>')
_IN_COMMENT = re.compile(r"(?P<before>\b(?P<owner>tl|network)\.)(?P<name>\w+)")

#: Qualified names of what is public, by name: ``time_map``, ``Network``, ``Network.save``.
Names = Mapping[str, str]


def public_names(objects: Mapping[str, Any]) -> dict[str, str]:
    """Return the qualified names of the reference by public name, from the objects of the domain of Python."""
    start = f"{PACKAGE}."
    return {name.removeprefix(start): name for name in objects if name.startswith(start)}


def variables(code: str, names: Names) -> dict[str, str]:
    """Return the classes of the variables of a page by name, from the functions that create them."""
    found = {"network": "Network"}
    for variable, owner, name in _CREATED.findall(code):
        member = name if owner in ("tl", PACKAGE) else f"{found.get(owner)}.{name}"
        if member in names and (kind := _returned(member)) in names:
            found[variable] = kind
    return found


def _returned(member: str) -> str:
    """Return the name of the class that a public function, method or class returns."""
    import traveltime_lab

    value: Any = traveltime_lab
    for part in member.split("."):
        value = getattr(value, part)
    if inspect.isclass(value):
        return member
    return str(inspect.signature(value).return_annotation) if callable(value) else ""


def assigned(code: str) -> set[str]:
    """Return the names that the code of a page assigns, which mean its variables there."""
    return set(_ASSIGNED.findall(code))


def targets(text: str, names: Names, kinds: Mapping[str, str], *, plain: bool = True) -> Iterator[tuple[int, int, str]]:
    """
    Yield the places of public names in the code of a sentence: start, end and public name.

    Parameters
    ----------
    text : str
        Such as ``tl.time_map(network, homes)``.
    names : mapping
        The public names.
    kinds : mapping
        Classes of variables.
    plain : bool
        Whether a name on its own, without the package and not called, is one of the package.
    """
    for match in _NAMED.finditer(text):
        owner, name, member, called = match.groups()
        start, end = match.start(), match.end(3) if member else match.end(2)
        found = None
        if owner in ("tl", PACKAGE):
            longer = f"{name}.{member}"
            found = longer if longer in names else name
            end = end if found == longer else match.end(2)
        elif owner is not None:
            kind = kinds.get(owner, owner)
            found = f"{kind}.{name}"
            if found not in names and owner in names and owner[0].isupper():  # an attribute that its class describes
                found = owner
        elif member is None:
            whole = text.strip("()") == name
            if called or name[0].isupper() or (whole and plain):
                found = name
                if found not in names and whole and f"Network.{name}" in names and _returned(f"Network.{name}"):
                    found = f"Network.{name}"
        if found in names:
            yield start, end, found


def link_block(html: str, names: Names, kinds: Mapping[str, str], address: Mapping[str, str]) -> str:
    """Return the HTML of a page with links in its blocks of code; `address` has those of public names."""

    def anchor(name: str, shown: str) -> str:
        return f'<a class="reference internal" href="{address[name]}" title="{names[name]}">{shown}</a>'

    def attribute(match: re.Match[str]) -> str:
        owner, name = match["owner"], match["name"]
        found = name if owner in ("tl", PACKAGE) else f"{kinds.get(owner, owner)}.{name}"
        shown = match[0].removeprefix(match["before"])
        return match["before"] + anchor(found, shown) if found in address else match[0]

    def single(match: re.Match[str]) -> str:
        return anchor(match["name"], match[0]) if match["name"] in address else match[0]

    def block(match: re.Match[str]) -> str:
        linked = _CLASS.sub(single, _ATTRIBUTE.sub(attribute, match[0]))
        return _COMMENT.sub(lambda comment: _IN_COMMENT.sub(attribute, comment[0]), linked)

    return _BLOCK.sub(block, html)


class Page(HTMLParser):
    """What a page of HTML has: its anchors, its links, and its code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        #: Texts of `code` and `pre` elements.
        self.code: list[str] = []
        self._depth = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect anchors and links."""
        given = dict(attrs)
        self.anchors |= {str(given[key]) for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        if tag in ("code", "pre"):
            if not self._depth:
                self.code.append("")
            self._depth += 1

    def handle_endtag(self, tag: str) -> None:
        """Leave code."""
        if tag in ("code", "pre"):
            self._depth -= 1

    def handle_data(self, data: str) -> None:
        """Collect code."""
        if self._depth:
            self.code[-1] += data

    def without_link(self, names: Names, *, plain: bool = True) -> set[str]:
        """Return the public names, also `plain` ones, that the page mentions and that none of its links leads to."""
        linked = {unquote(link.partition("#")[2]) for link in self.links}
        everything = "\n".join(self.code)
        mentioned = set(re.findall(rf"(?<!\w)(?:tl|{PACKAGE})\.(\w+)", everything))
        mentioned |= {f"Network.{name}" for name in re.findall(r"\bnetwork\.(\w+)", everything)}
        if plain:
            mentioned |= {text.strip("()") for text in self.code} - assigned(everything)
        return {name for name in mentioned if name in names and names[name] not in linked}


def broken_links(pages: Mapping[Path, Page]) -> list[str]:
    """Return the links between pages that lead to no file or no anchor."""
    found = []
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:|//", link):
                continue
            file, _, anchor = unquote(link).partition("#")
            file = file.partition("?")[0]
            to = (path.parent / file).resolve() if file else path.resolve()
            if not to.exists() or (anchor and to in pages and anchor not in pages[to].anchors):
                found.append(f"{path.name}: {link}")
    return found


def _code_of(doctree: Any) -> str:
    from docutils import nodes

    return "\n".join(block.astext() for block in doctree.findall(nodes.literal_block))


def _parameters(docname: str) -> set[str]:
    """Return the names of the parameters of the function that a page of the reference is about."""
    import traveltime_lab

    value = getattr(traveltime_lab, docname.rpartition(".")[2], None)
    return set(inspect.signature(value).parameters) if inspect.isfunction(value) else set()


def _link_text(app: Sphinx, doctree: Any, docname: str) -> None:
    """Turn code in the text of a page into links."""
    from docutils import nodes
    from sphinx.util.nodes import make_refnode

    domain = app.env.domains.python_domain
    names = public_names(domain.objects)
    code = _code_of(doctree)
    kinds, own = variables(code, names), assigned(code)
    is_api = docname.startswith("reference/api/")

    def reference(name: str, shown: Any) -> Any:
        entry = domain.objects[names[name]]
        return make_refnode(app.builder, docname, entry.docname, entry.node_id, shown, names[name])

    own |= _parameters(docname)
    for literal in list(doctree.findall(nodes.literal)):
        is_meant = "xref" in literal["classes"]
        if is_meant and literal.astext() in own and isinstance(literal.parent, nodes.reference):
            literal.parent.replace_self(literal)  # `places` of `nearest`, which is an argument
            continue
        above, parent = [], literal.parent
        while parent is not None:
            above.append(parent)
            parent = parent.parent
        if any(isinstance(each, nodes.reference | nodes.title) for each in above):
            continue
        text = literal.astext()
        if (match := _NOTEBOOK.fullmatch(text)) and f"notebooks/{match[1]}" in app.env.found_docs:
            literal.replace_self(make_refnode(app.builder, docname, f"notebooks/{match[1]}", "", literal.deepcopy()))
            continue
        plain = (is_meant or not is_api) and docname not in WIRE and text not in own
        found = [
            (start, end, name)
            for start, end, name in targets(text, names, kinds, plain=plain)
            if is_meant or domain.objects[names[name]].docname != docname
        ]
        if len(found) == 1 and found[0][0] == 0:
            literal.replace_self(reference(found[0][2], literal.deepcopy()))
            continue
        parts, last = [], 0
        for start, end, name in found:
            parts += [nodes.Text(text[last:start]), reference(name, nodes.Text(text[start:end]))]
            last = end
        if parts:
            literal.children = []
            literal.extend([part for part in [*parts, nodes.Text(text[last:])] if part.astext()])


def _link_code(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Turn names in the code of a page into links."""
    if doctree is None or app.builder.format != "html":
        return
    domain = app.env.domains.python_domain
    names = public_names(domain.objects)
    address = {}
    for name, qualified in names.items():
        entry = domain.objects[qualified]
        if entry.docname != pagename:
            address[name] = f"{app.builder.get_relative_uri(pagename, entry.docname)}#{entry.node_id}"
    context["body"] = link_block(context["body"], names, variables(_code_of(doctree), names), address)


def _check(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    from sphinx.errors import SphinxError
    from sphinx.util import logging

    names = public_names(app.env.domains.python_domain.objects)
    out = Path(app.outdir).resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(out.rglob("*.html"))}
    if found := broken_links(pages):
        raise SphinxError(f"{len(found)} links lead nowhere, such as {found[0]}")
    to_names, without = 0, []
    for path, page in pages.items():
        place = path.relative_to(out).with_suffix("").as_posix()
        to_names += sum(f"#{PACKAGE}." in link for link in page.links)
        if not place.startswith("reference/api/") and place not in ("genindex", "search"):
            missing = page.without_link(names, plain=place not in WIRE)
            without += [f"{name} on {place}" for name in sorted(missing)]
    if without:
        raise SphinxError(f"{len(without)} names have no link to the reference: {', '.join(without)}")
    logging.getLogger(__name__).info("%d links to the reference on %d pages", to_names, len(pages))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("doctree-resolved", _link_text)
    app.connect("html-page-context", _link_code)
    app.connect("build-finished", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
