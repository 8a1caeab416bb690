"""
Description of the service: an OpenAPI document, and a page generated from it that loads nothing from other sites.
"""

from __future__ import annotations

import functools
import html
import json
from typing import Any, Final

import msgspec
from msgspec import inspect

import traveltime_lab
from traveltime_lab.server import examples
from traveltime_lab.server.context import DAY_HEADER, WARNING_HEADER
from traveltime_lab.server.contract import responses
from traveltime_lab.server.contract.errors import DOCUMENTATION_LINK, EXPLANATIONS, ErrorBody
from traveltime_lab.server.contract.moments import Moment
from traveltime_lab.server.contract.requests import PLACES_OF_OPTIONS, Misplaced
from traveltime_lab.server.endpoints.table import ENDPOINTS, Endpoint
from traveltime_lab.server.formats import BOXES, GEOJSON, JSON, WKT, WKT_NO_HOLES
from traveltime_lab.server.protobuf import endpoints

_REF: Final = "#/components/schemas/{name}"
_SHAPES: Final = {
    JSON: responses.Shapes,
    WKT: responses.WktShapes,
    WKT_NO_HOLES: responses.WktShapes,
    GEOJSON: responses.ShapeCollection,
    BOXES: responses.BoxShapes,
}
_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; }
code, pre { font: 13px/1.45 ui-monospace, monospace; } pre { background: #f5f3ee; padding: .7rem; overflow: auto; }
details { border: 1px solid #d8d4ca; border-radius: 6px; margin: .6rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; } summary b { display: inline-block; width: 4rem; color: #0b5c6b; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .15rem .8rem .15rem 0; vertical-align: top; }
"""

#: Headers of answers. Source: docs/contract.md, 3.10.
_HEADERS: Final = {
    DAY_HEADER: {"description": "Date of weekday_morning, if a timetable was used", "schema": {"type": "string"}},
    WARNING_HEADER: {"description": "Warnings, if there are any", "schema": {"type": "string"}},
}


def describe(place: tuple[float, float] = examples.SOMEWHERE) -> dict[str, Any]:
    """Return the OpenAPI document, with examples around a place (longitude, latitude)."""
    bodies, queries = examples.bodies(place), examples.queries(place)
    reference_of, components = _schemas()
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        operation = _operation(endpoint, reference_of)
        if endpoint.method == "POST":
            operation["requestBody"]["content"][JSON]["example"] = bodies[endpoint.path]
        for parameter in operation.get("parameters", ()):
            if parameter["name"] in queries[endpoint.path]:
                parameter["example"] = queries[endpoint.path][parameter["name"]]
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    for path, endpoint in endpoints.ENDPOINTS.items():
        paths[f"/api/v3{path}"] = {"post": _proto_operation(endpoint, reference_of)}
    said, text = {JSON: {"schema": {"type": "object"}}}, {"text/plain": {"schema": {"type": "string"}}}
    paths["/health"] = {"get": _open_operation("health", "Whether the service runs", said)}
    paths["/ready"] = {"get": _open_operation("ready", "Whether networks are loaded and kernels compiled", said)}
    paths["/ready"]["get"]["responses"]["503"] = {"description": "Not yet", "content": said}
    paths["/metrics"] = {"get": _open_operation("metrics", "Metrics in the text format of Prometheus", text)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "traveltime_lab",
            "version": traveltime_lab.__version__,
            "description": "Isochrones, travel times and distances over the networks of this service.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "app_id": {"type": "apiKey", "in": "header", "name": "X-Application-Id"},
                "api_key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
                "basic": {"type": "http", "scheme": "basic"},
            },
        },
    }


@functools.cache
def _schemas() -> tuple[dict[Any, Any], dict[str, Any]]:
    """Return the reference of each kind of body, and the schemas by name, which all documents of a process share."""
    requests = [e.request for e in ENDPOINTS if e.method == "POST"]
    results = [getattr(responses, e.result) for e in ENDPOINTS]
    kinds = list(dict.fromkeys([*requests, *results, *_SHAPES.values(), ErrorBody]))
    references, components = msgspec.json.schema_components(kinds, schema_hook=_schema_of, ref_template=_REF)
    for schema in components.values():
        _without_misplaced(schema)
    return dict(zip(kinds, references, strict=True)), components


def _without_misplaced(schema: dict[str, Any]) -> None:
    """Remove the fields that a search refuses from its schema."""
    properties = schema.get("properties", {})
    if set(Misplaced.__struct_fields__) <= set(properties):
        for name in PLACES_OF_OPTIONS:
            properties.pop(name, None)


def _schema_of(kind: type) -> dict[str, Any]:
    """Return the schema of a moment, which msgspec does not support; raise NotImplementedError for all other types."""
    if kind is Moment:
        return {"type": "string"}
    raise NotImplementedError


def _errors(reference_of: dict[Any, Any]) -> dict[str, Any]:
    content = {JSON: {"schema": reference_of[ErrorBody]}}
    meanings: dict[int, list[str]] = {}
    for each in EXPLANATIONS:
        prefix = "" if each.code == each.status else f"Code {each.code}: "
        meanings.setdefault(each.status, []).append(prefix + each.meaning)
    return {str(status): {"description": " ".join(meanings[status]), "content": content} for status in sorted(meanings)}


def _operation(endpoint: Endpoint, reference_of: dict[Any, Any]) -> dict[str, Any]:
    result = reference_of[getattr(responses, endpoint.result)]
    content = {
        media: {"schema": reference_of[_SHAPES[media]] if media in _SHAPES else {"type": "string"}}
        for media in endpoint.formats
    }
    if endpoint.result != "Shapes":
        content = {JSON: {"schema": result}}
    operation: dict[str, Any] = {
        "operationId": f"{endpoint.method.lower()}{endpoint.path.removeprefix('/v4').replace('/', '_')}",
        "summary": endpoint.summary,
        "security": [{"app_id": [], "api_key": []}],
        "responses": {"200": {"description": "The answer", "headers": _HEADERS, "content": content}}
        | _errors(reference_of),
    }
    if endpoint.method == "POST":
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": reference_of[endpoint.request]}}}
    elif endpoint.request is not None:
        operation["parameters"] = _parameters(endpoint.request)
    return operation


def _parameters(kind: Any) -> list[dict[str, Any]]:
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    _, components = msgspec.json.schema_components([kind], schema_hook=_schema_of, ref_template=_REF)
    schemas = components[kind.__name__]["properties"]
    found = []
    for field in described.fields:
        schema = schemas[field.encode_name]
        # A query string has no null: an absent parameter is absent.
        options = [option for option in schema.get("anyOf", [schema]) if option.get("type") != "null"]
        found.append({"name": field.encode_name, "in": "query", "required": field.required, "schema": options[0]})
    return found


def _proto_operation(endpoint: Endpoint, reference_of: dict[Any, Any]) -> dict[str, Any]:
    binary = {endpoints.MEDIA: {"schema": {"type": "string", "format": "binary"}}}
    known = {"country": sorted(endpoints.COUNTRIES), "mode": sorted(endpoints.SEGMENTS)}
    return {
        "operationId": "proto" + endpoint.path.replace("/", "_").replace("{", "").replace("}", ""),
        "summary": f"{endpoint.summary}, as Protocol Buffers ({endpoint.request} to {endpoint.result})",
        "description": "Also under /api/v2 and without a prefix. Errors have the headers X-ERROR-CODE, X-ERROR-MESSAGE "
        "and X-ERROR-DETAILS.",
        "security": [{"basic": []}],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string", "enum": values}}
            for name, values in known.items()
        ],
        "requestBody": {"required": True, "content": binary},
        "responses": {"200": {"description": "The answer", "headers": _HEADERS, "content": binary}}
        | _errors(reference_of),
    }


def _open_operation(name: str, summary: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"operationId": name, "summary": summary, "responses": {"200": {"description": "Yes", "content": content}}}


def page(document: dict[str, Any]) -> str:
    """Return a document of `describe` as a page of HTML without scripts and without anything from elsewhere."""
    schemas = document["components"]["schemas"]
    head = (
        f"{_head('traveltime_lab')}<h1>traveltime_lab {html.escape(traveltime_lab.__version__)}</h1>"
        "<p>JSON endpoints take the headers <code>X-Application-Id</code> and <code>X-Api-Key</code>, GET also "
        "<code>app_id</code> and <code>api_key</code> in the query; Protocol Buffers take HTTP Basic. The description "
        "for machines is at <a href='openapi.json'>openapi.json</a>; all errors are in "
        f"<a href='{DOCUMENTATION_LINK[1:]}'>a table</a>.</p>"
    )
    parts = [head]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.append(_section(method, path, operation))
    parts.append("<h2>Types</h2>")
    for name, schema in sorted(schemas.items()):
        parts.append(
            f"<details id='{html.escape(name)}'><summary><code>{html.escape(name)}</code></summary>"
            f"<pre>{html.escape(json.dumps(schema, indent=2))}</pre></details>"
        )
    return "".join(parts) + "</body></html>\n"


def errors_page() -> str:
    """Return the page to which `documentation_link` of every error leads: a table of all errors."""
    rows = "".join(
        f"<tr id='{each.code}'><td>{each.code}<td>{each.status}<td>{html.escape(each.meaning)}"
        f"<td>{html.escape(each.remedy)}</tr>"
        for each in EXPLANATIONS
    )
    return (
        f"{_head('Errors of traveltime_lab')}<h1>Errors</h1><p>Every answer other than 200 is a JSON object with "
        "<code>http_status</code>, <code>error_code</code>, <code>description</code>, <code>documentation_link</code> "
        "and <code>additional_info</code>.</p><table><tr><th>Code<th>Status<th>Meaning<th>What to do</tr>"
        f"{rows}</table></body></html>\n"
    )


def _head(title: str) -> str:
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
        f"<style>{_STYLE}</style></head><body>"
    )


def _section(method: str, path: str, operation: dict[str, Any]) -> str:
    title = f"<b>{method.upper()}</b> <code>{html.escape(path)}</code> {html.escape(operation['summary'])}"
    rows = []
    for parameter in operation.get("parameters", ()):
        need = "required" if parameter["required"] else "optional"
        shown = html.escape(json.dumps(parameter["schema"]))
        if "example" in parameter:
            shown += f"</code>, such as <code>{html.escape(str(parameter['example']))}"
        rows.append(f"<tr><td><code>{parameter['name']}</code><td>{need}<td><code>{shown}</code></tr>")
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        rows.append(f"<tr><td>body<td>{html.escape(media)}<td>{_link(content['schema'])}</tr>")
        if "example" in content:
            shown = html.escape(json.dumps(content["example"], indent=2))
            rows.append(f"<tr><td>example<td colspan='2'><pre>{shown}</pre></tr>")
    for media, content in operation["responses"]["200"]["content"].items():
        rows.append(f"<tr><td>200<td>{html.escape(media)}<td>{_link(content['schema'])}</tr>")
    for status, response in operation["responses"].items():
        if status != "200":
            rows.append(f"<tr><td>{status}<td><td>{html.escape(response['description'])}</tr>")
    return f"<details><summary>{title}</summary><table>{''.join(rows)}</table></details>"


def _link(schema: dict[str, Any]) -> str:
    name = schema.get("$ref", "").rpartition("/")[2]
    return f"<a href='#{html.escape(name)}'><code>{html.escape(name)}</code></a>" if name else "text or bytes"
