"""
Write the report on a network as HTML: its facts, the departures of each feed by date and hour, and what may be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any, Final

import pandas as pd

from traveltime_lab.network.report_text import label, without_nothing

#: Not those of the locale, as the other words are English.
WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: Maximum number of feeds whose departures are shown, and of hours for each.
_FEEDS_SHOWN: Final = 5
_HOURS_SHOWN: Final = 48
#: Maximum number of rows of each table of what may be wrong.
_ROWS_SHOWN: Final = 10
#: White text is read better than black text on cells of a greater share of the maximum than this.
_DARK: Final = 0.7
_CELL: Final = "text-align: right; padding: 1px 4px"
_HEAD: Final = "text-align: left; vertical-align: top; padding: 1px 8px 1px 0"


def verdict_list(sentences: Iterable[str]) -> str:
    """Return sentences as a list."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if items else ""


def facts_table(facts: Mapping[str, Any], caption: str, worded: Any, section: str = "") -> str:
    """
    Return nested facts as a table.

    `worded` returns the text of a value, and `section` is the key that the facts stand under.
    """
    rows = []
    for key, value in without_nothing(facts, section):
        name = escape(label(key, section))
        cell = escape(worded(value))
        if isinstance(value, Mapping) and value:
            cell = facts_table(value, "", worded, str(key))
        rows.append(f"<tr><th scope='row' style='{_HEAD}'>{name}</th><td style='text-align: left'>{cell}</td></tr>")
    head = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"


def service_tables(hours: pd.DataFrame) -> Iterator[str]:
    """Yield a table of departures by date and hour for each feed, coloured by their number."""
    feeds = list(hours.loc[hours["departures"] > 0, "feed"].unique())
    for feed in feeds[:_FEEDS_SHOWN]:
        own = hours[hours["feed"] == feed]
        table = own.pivot_table(index="date", columns="hour", values="departures", aggfunc="sum")
        served = [hour for hour in table.columns if table[hour].any()]
        shown = [hour for hour in table.columns if served[0] <= hour <= served[-1]][:_HOURS_SHOWN]
        most = max(int(table[shown].to_numpy().max()), 1)
        head = "".join(f"<th scope='col' style='{_CELL}'>{hour}</th>" for hour in shown)
        rows = [
            f"<tr><th scope='row' style='{_HEAD}'>{WEEKDAYS[date.weekday()]} {date}</th>"
            + "".join(_cell(int(table.loc[date, hour]), most) for hour in shown)
            + "</tr>"
            for date in table.index
        ]
        more = "" if shown[-1] == served[-1] else f"; hours after {shown[-1]} are left out"
        caption = escape(f"Departures of {feed} by service date and hour{more}")
        yield (
            f"<table style='border-collapse: collapse'><caption>{caption}</caption>"
            f"<thead><tr><th scope='col' style='{_HEAD}'>date</th>{head}</tr></thead>"
            f"<tbody>{''.join(rows)}</tbody></table>"
        )
    if len(feeds) > _FEEDS_SHOWN:
        yield f"<p>Departures of {len(feeds) - _FEEDS_SHOWN} more feeds are not shown.</p>"


def _cell(number: int, most: int) -> str:
    """Return a cell of the table of departures; its colours do not depend on the theme of a notebook."""
    share = number / most
    red, green, blue = (round(255 + (value - 255) * share) for value in (0, 60, 140))
    text = "#fff" if share > _DARK else "#000"
    return f"<td style='{_CELL}; color: {text}; background: rgb({red},{green},{blue})'>{number}</td>"


def finding(title: str, table: pd.DataFrame) -> str:
    """Return the first rows of a table of what may be wrong, without its shapes, and their number."""
    if not len(table):
        return f"<p><b>{escape(title)}</b>: none</p>"
    rows = pd.DataFrame(table).drop(columns="geometry", errors="ignore")
    more = "" if len(rows) <= _ROWS_SHOWN else f", the first {_ROWS_SHOWN} of {len(rows):,}"
    shown = rows.head(_ROWS_SHOWN).to_html(index=False, border=0, float_format=lambda value: f"{value:,.5g}")
    return f"<p><b>{escape(title)}</b>{more}</p>{shown}"


def page(body: str) -> bytes:
    """Return a page that needs no other files."""
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>Report on a network</title>"
        "<style>body {font: 14px sans-serif; margin: 2em; color: #000; background: #fff}"
        " table {margin-bottom: 1em} caption {font-weight: bold; text-align: left}"
        " td td, td th {font-size: 13px} .dataframe th, .dataframe td {text-align: left; padding: 1px 12px 1px 0}"
        "</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    ).encode("utf-8", "replace")
