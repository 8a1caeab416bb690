"""
Search index of the names in a network: places and addresses of its source, its streets, and the postcodes in addresses.

Text is split into tokens without accents, case and punctuation. A token of a query matches a word that is equal to it
or begins with it or, if there is no such word, a word within an edit distance of one or two. The score of a result
depends on the quality of the matches, on the share of the name that they cover, and on the type of the place. Commas
separate what is looked for from where it is: ``"Kaivokatu, Helsinki"``. See `Gazetteer.search`.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
import shapely
from rapidfuzz import process
from rapidfuzz.distance import OSA
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from traveltime_lab._arrays import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array, UInt8Array, indptr_of
from traveltime_lab.network.network import Network
from traveltime_lab.runtime.memo import Derived
from traveltime_lab.search.geocoding.countries import COUNTRIES, countries_at, country_of
from traveltime_lab.streets.tables import PLACE_DTYPES, StreetTables

#: Maximum distance in metres to the settlement that is used as the city or suburb of a place without one (assumed).
_SETTLEMENTS: Final = {"city": 15_000.0, "town": 6_000.0, "village": 3_000.0, "hamlet": 1_500.0}
_QUARTERS: Final = {"borough": 4_000.0, "suburb": 2_500.0, "quarter": 1_500.0, "neighbourhood": 1_000.0}
#: Maximum distance in metres between edges of the same name that belong to the same street (assumed).
_SAME_STREET_M: Final = 250.0

#: Importance of types of places, 0 to 1 (assumed).
_IMPORTANCE: Final = {
    "place=country": 1.0, "place=state": 0.98, "place=city": 0.95, "place=town": 0.9, "place=village": 0.8,
    "place=borough": 0.75, "place=suburb": 0.75, "place=hamlet": 0.7, "place=quarter": 0.7,
    "place=neighbourhood": 0.65, "place=island": 0.7, "aeroway=aerodrome": 0.75, "railway=station": 0.7,
    "railway=halt": 0.6, "place=house": 0.3, "highway=bus_stop": 0.2, "railway=tram_stop": 0.3,
    "railway=subway_entrance": 0.25, "place=postcode": 0.75,
}  # fmt: skip
_OTHER_IMPORTANCE: Final = 0.45
_STREET_IMPORTANCE: Final = 0.5

#: Weights of coverage and importance in a score; the remaining weight is constant (assumed).
_COVERAGE, _KIND = 0.3, 0.15
#: Factor of the coverage for each comma before the words that cover a name (assumed).
_LATER_PART: Final = 0.8
#: Quality of a match by prefix and of a misspelt match; the first increases with the share of the word that matches.
_PREFIX, _MISSPELT = 0.75, 0.6

#: Letters that Unicode normalisation does not decompose into a base letter and an accent.
_PLAIN: Final = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
_WORD: Final = re.compile(r"[^\W_]+")
_HOUSE_NUMBER: Final = re.compile(r"\d+[a-z]?")


def tokens_of(text: str) -> list[str]:
    """Split a text into words without accents, case and punctuation: ``"Rua São-José 5a"`` → rua sao jose 5a."""
    folded = unicodedata.normalize("NFKD", text.casefold()).translate(_PLAIN)
    bare = "".join(letter for letter in folded if not unicodedata.combining(letter))
    return _WORD.findall(bare.replace("'", "").replace("’", ""))


def prefix_quality(n: int, n_word: int) -> float:
    """Return the quality of a match of the first `n` letters of a word."""
    return 1.0 if n == n_word else _PREFIX + (0.95 - _PREFIX) * n / n_word


def postcode_score(quality: float) -> float:
    """Return the score of a postcode that is the name looked for, by the mean quality of the matches of all tokens."""
    return quality * (1.0 - _KIND + _KIND * _IMPORTANCE["place=postcode"])


@dataclass(frozen=True)
class _Words:
    """Inverted index: sorted words, and for each word its entries and the fields in which it occurs."""

    words: list[str]
    indptr: Int64Array
    entry: Int32Array
    #: Bits: 1 if the word is in the name of the entry, 2 if it is in its address; 0 if it is in its context only.
    field: UInt8Array


class Gazetteer:
    """
    Search index of the names and addresses of a network.

    Attributes
    ----------
    entries : DataFrame
        Columns of `traveltime_lab.streets.tables.PLACE_DTYPES`. Streets follow the places; their kinds are tags such as
        ``highway=residential``, and they have no OSM type and id. Postcodes (``place=postcode``) follow the streets.
        Entries without a city or suburb get those of the nearest settlement, and entries without a country that of the
        time zone where they are.
    x, y : float64 arrays of shape (n_entries,)
        Local metres.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        places = network.tables.places
        columns = {
            name: places[name].to_numpy(dtype=object if dtype == "string" else None)
            for name, dtype in PLACE_DTYPES.items()
        }
        streets, postcodes = _streets(network), _postcodes(columns)
        both = {name: np.concatenate([columns[name], streets[name], postcodes[name]]) for name in PLACE_DTYPES}
        self.x, self.y = network.frame.to_xy(both["lng"].astype(np.float64), both["lat"].astype(np.float64))
        self.importance = np.array(
            [_IMPORTANCE.get(kind, _OTHER_IMPORTANCE) for kind in columns["kind"]]
            + [_STREET_IMPORTANCE] * len(streets["kind"])
            + [_IMPORTANCE["place=postcode"]] * len(postcodes["kind"])
        )
        self._locate(both)
        self.entries = pd.DataFrame(both)
        self._words, self._n_name, self._n_address = self._index(both)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.entries)

    def _locate(self, columns: dict[str, AnyArray]) -> None:
        """Fill in missing cities, suburbs and countries, in place."""
        for column, radii in (("city", _SETTLEMENTS), ("neighbourhood", _QUARTERS)):
            best = np.ones(self.x.size)
            nearest = np.full(self.x.size, -1)
            for kind, radius in radii.items():
                there = np.flatnonzero((columns["kind"] == f"place={kind}") & (columns["name"] != ""))
                if not there.size:
                    continue
                tree = KDTree(np.column_stack([self.x[there], self.y[there]]))
                metres, which = tree.query(np.column_stack([self.x, self.y]), distance_upper_bound=radius)
                closer = metres / radius < best
                best[closer], nearest[closer] = (metres / radius)[closer], there[which[closer]]
            is_settlement = np.isin(columns["kind"], [f"place={kind}" for kind in radii])
            larger = column == "neighbourhood"
            is_settlement |= larger & np.isin(columns["kind"], [f"place={kind}" for kind in _SETTLEMENTS])
            fill = (columns[column] == "") & (nearest >= 0) & ~is_settlement
            columns[column][fill] = columns["name"][nearest[fill]]
        known = {code: found.alpha_2 for code in set(columns["country"]) if (found := country_of(code))}
        columns["country"][:] = [known.get(code, "") for code in columns["country"]]
        unknown = np.flatnonzero(columns["country"] == "")
        columns["country"][unknown] = countries_at(
            columns["lng"][unknown], columns["lat"][unknown], self.network.timezone
        )

    def _index(self, columns: dict[str, AnyArray]) -> tuple[_Words, Int64Array, Int64Array]:
        """Return the inverted index, and the numbers of words in the name and in the address of each entry."""
        country_names = {country.alpha_2: country.name for country in COUNTRIES}
        known: dict[str, list[str]] = {}

        def words(text: str) -> list[str]:
            if text not in known:
                known[text] = tokens_of(text)
            return known[text]

        around = ("street", "house_number", "neighbourhood", "district", "city", "county", "region", "postcode")
        place_of: dict[str, dict[int, int]] = {}
        n_name, n_address = np.zeros(self.x.size, np.int64), np.zeros(self.x.size, np.int64)
        rows = zip(*(columns[name] for name in ("name", "other_names", "country", *around)), strict=True)
        for entry, (name, others, country, *context) in enumerate(rows):
            fields: dict[str, int] = {}
            for text in (*context, country_names.get(country, "")):
                fields.update(dict.fromkeys(words(text), 0))
            own = words(name)
            n_name[entry] = len(set(own))
            address = {*words(context[0]), *words(context[1])} if context[1] else set()
            n_address[entry] = len(address)
            for bit, found in ((2, address), (1, own), (1, words(others))):
                for word in found:
                    fields[word] = fields.get(word, 0) | bit
            for word, bits in fields.items():
                place_of.setdefault(word, {})[entry] = bits
        ordered = sorted(place_of)
        counts = [len(place_of[word]) for word in ordered]
        return (
            _Words(
                ordered,
                indptr_of(counts),
                np.array([entry for word in ordered for entry in place_of[word]], np.int32),
                np.array([bits for word in ordered for bits in place_of[word].values()], np.uint8),
            ),
            n_name,
            n_address,
        )

    def search(self, query: str) -> tuple[Int64Array, FloatArray]:
        """
        Return the entries that match a text, with their scores.

        Returns
        -------
        entries : int64 array
        scores : float64 array
            Values above 0 and at most 1: the mean quality of the matches of all tokens (1 for a whole word, 0.75 to 1
            for a prefix, 0.6 for a misspelt word, 0 for no match), times the sum of 0.55, 0.3 times the share of the
            name (or address) that is matched, and 0.15 times the importance of the type. The share is that of the
            best part of the text between commas, times 0.8 for each comma before it.

        Notes
        -----
        The context of a place (its street, suburb, city, postcode and country) matches too, but at least one word of
        the name or address of an entry must match. Results are the entries that match the largest number of tokens,
        which must be at least half of them, and those whose name or address has all tokens before the first comma. If
        none matches all tokens, the latter are the only results, because the source may not contain the city of a
        street.
        """
        parts = [part for part in map(tokens_of, query.split(",")) if part]
        n_tokens = sum(len(part) for part in parts)
        n = len(self)
        quality, coverage = np.zeros(n), np.zeros(n)
        matched, matched_first = np.zeros(n, np.int64), np.zeros(n, np.int64)
        found = np.zeros(n, np.bool_)
        for number, part in enumerate(parts):
            own_name, own_address = np.zeros(n, np.int64), np.zeros(n, np.int64)
            for token in part:
                best, in_name, in_address = self._of_token(token)
                quality += best
                matched += best > 0
                own_name += in_name
                own_address += in_address
                if number == 0:
                    matched_first += in_name | in_address
            found |= (own_name > 0) | (own_address > 0)
            share = np.maximum(
                own_name / np.maximum(self._n_name, 1),
                # An address refers to the house rather than to the shops in it.
                np.where(self._n_name > 0, 0.8, 1.0) * own_address / np.maximum(self._n_address, 1),
            )
            coverage = np.maximum(coverage, np.minimum(share, 1.0) * _LATER_PART**number)
        most = int(matched[found].max(initial=0))
        kept = found & (matched == most) & (2 * most >= n_tokens)
        if len(parts) > 1 and (is_first := matched_first == len(parts[0])).any():
            kept = is_first | (kept & (most == n_tokens))
        entries = np.flatnonzero(kept)
        scores = quality[entries] / max(n_tokens, 1)
        scores *= (1.0 - _COVERAGE - _KIND) + _COVERAGE * coverage[entries] + _KIND * self.importance[entries]
        return entries, scores

    def _of_token(self, token: str) -> tuple[FloatArray, BoolArray, BoolArray]:
        """Return for each entry how well a token matches a word of it, and whether it is in its name or address."""
        n = len(self)
        best = np.zeros(n)
        in_name, in_address = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        for word, share in self._matches(token):
            rows = slice(int(self._words.indptr[word]), int(self._words.indptr[word + 1]))
            entry, field = self._words.entry[rows], self._words.field[rows]
            best[entry] = np.maximum(best[entry], share)
            in_name[entry] |= (field & 1) > 0
            in_address[entry] |= (field & 2) > 0
        return best, in_name, in_address

    def _matches(self, token: str) -> list[tuple[int, float]]:
        """Return the words that match a token, with the quality of the matches."""
        words = self._words.words
        first = bisect_left(words, token)
        last = bisect_left(words, token + "\U0010ffff", lo=first)
        found = [
            (
                word,
                prefix_quality(len(token), len(words[word])),
            )
            for word in range(first, last)
            # House number 5 does not match 50, but it matches 5a.
            if not token[-1].isdigit() or not words[word][len(token) : len(token) + 1].isdigit()
        ]
        if found or len(token) < 4 or _HOUSE_NUMBER.fullmatch(token):
            return found
        errors = 1 if len(token) < 8 else 2
        near = process.extract(token, words, scorer=OSA.distance, score_cutoff=errors, limit=50)
        return [(word, _MISSPELT) for _, _, word in near if words[word][:1] == token[:1] or errors > 1]

    def metres_to(self, lng: float, lat: float, entries: Int64Array) -> FloatArray:
        """Return the straight-line distances between a point and entries in metres."""
        x, y = self.network.frame.to_xy(np.array([lng]), np.array([lat]))
        shrink = self.network.frame.shrink(y)
        return np.asarray(np.hypot((self.x[entries] - x) * shrink, self.y[entries] - y))


_GAZETTEER = Derived[None, Gazetteer]("gazetteer")
_STREET_OF_EDGES = Derived[None, Int64Array]("named streets of edges")
_ENTRY_OF_EDGES = Derived[None, Int32Array]("entries of the streets of edges")


def gazetteer(network: Network) -> Gazetteer:
    """Return the gazetteer of a network; it is cached."""
    return _GAZETTEER.of(network, None, lambda: Gazetteer(network))


def street_entries(network: Network) -> Int32Array:
    """Return, for each edge, the entry of its street in the gazetteer, -1 for edges without a name; it is cached."""

    def entries() -> Int32Array:
        street = _STREET_OF_EDGES.of(network, None, lambda: _street_of_edges(network))
        return np.where(street >= 0, street + len(network.tables.places), -1).astype(np.int32)

    return _ENTRY_OF_EDGES.of(network, None, entries)


def _street_of_edges(network: Network) -> Int64Array:
    """Return the street number of each edge; edges of the same name that are close to each other share a street."""
    t = network.tables
    is_land = ~t.uses["is_ferry"].to_numpy()[t.edge_use]
    named = np.flatnonzero((t.edge_name > 0) & is_land)
    street = np.full(network.n_edges, -1, np.int64)
    if not named.size:
        return street
    # Join edges that share a name and a node: both ends of an edge are linked to (name, node).
    name = t.edge_name[named].astype(np.int64)
    keys = np.concatenate([name * network.n_nodes + t.edge_from[named], name * network.n_nodes + t.edge_to[named]])
    _, key = np.unique(keys, return_inverse=True)
    tied = _joined(np.tile(np.arange(named.size), 2), named.size + key, named.size + int(key.max()) + 1)
    _, part = np.unique(tied[: named.size], return_inverse=True)
    # Join parts of the same name whose bounding boxes are close.
    x, y = network.frame.to_xy(t.coord_lng, t.coord_lat)
    begin = t.coord_indptr[:-1]
    boxes = np.column_stack([f.reduceat(v, begin)[named] for f, v in ((np.minimum, x), (np.minimum, y))])
    tops = np.column_stack([f.reduceat(v, begin)[named] for f, v in ((np.maximum, x), (np.maximum, y))])
    n_parts = int(part.max()) + 1
    low, high = np.full((n_parts, 2), np.inf), np.full((n_parts, 2), -np.inf)
    np.minimum.at(low, part, boxes)
    np.maximum.at(high, part, tops)
    part_name = np.zeros(n_parts, np.int64)
    part_name[part] = name
    several = np.flatnonzero(np.bincount(part_name)[part_name] > 1)
    half = _SAME_STREET_M / 2.0
    outlines = shapely.box(*(low[several] - half).T, *(high[several] + half).T)
    a, b = shapely.STRtree(outlines).query(outlines)
    a, b = several[a], several[b]
    same = part_name[a] == part_name[b]
    street[named] = _joined(a[same], b[same], n_parts)[part]
    _, street[named] = np.unique(street[named], return_inverse=True)
    return street


def _joined(a: AnyArray, b: AnyArray, n: int) -> Int32Array:
    """Return the connected component of each of `n` nodes that are linked in pairs."""
    pairs = coo_array((np.ones(a.size, np.int8), (a, b)), shape=(n, n))
    return np.asarray(connected_components(pairs, directed=False)[1])


def _streets(network: Network) -> dict[str, AnyArray]:
    """Return the named streets as columns of a table of places."""
    t = network.tables
    street = _STREET_OF_EDGES.of(network, None, lambda: _street_of_edges(network))
    edges = np.flatnonzero(street >= 0)
    n = int(street.max(initial=-1)) + 1
    columns: dict[str, AnyArray] = {
        name: np.full(n, "", dtype=object) if dtype == "string" else np.zeros(n, dtype)
        for name, dtype in PLACE_DTYPES.items()
    }
    if n == 0:
        return columns
    of = street[edges]
    names = np.array(t.names, dtype=object)
    columns["name"][of] = names[t.edge_name[edges]]
    columns["kind"][:] = _classes(t, edges, of, n)
    # The location of a street is on the edge nearest to its centroid, because the centroid may be far from the street.
    begin, end = t.coord_indptr[:-1][edges], t.coord_indptr[1:][edges]
    middle = (begin + end) // 2
    lng, lat = t.coord_lng[middle], t.coord_lat[middle]
    x, y = network.frame.to_xy(lng, lat)
    weight = t.edge_length_m[edges]
    total = np.bincount(of, weights=weight, minlength=n)
    far = np.zeros(edges.size)
    for value in (x, y):
        mean = np.bincount(of, weights=weight * value, minlength=n) / total
        far += (value - mean[of]) ** 2
    order = np.lexsort((far, of))
    first = order[np.searchsorted(of[order], np.arange(n))]
    columns["lng"], columns["lat"] = t.coord_lng[middle[first]], t.coord_lat[middle[first]]
    for name, function, values, start in (
        ("west", np.minimum, t.coord_lng, np.inf),
        ("south", np.minimum, t.coord_lat, np.inf),
        ("east", np.maximum, t.coord_lng, -np.inf),
        ("north", np.maximum, t.coord_lat, -np.inf),
    ):
        columns[name] = np.full(n, start)
        function.at(columns[name], of, function.reduceat(values, t.coord_indptr[:-1])[edges])
    return columns


def _postcodes(places: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """Return the postcodes in the addresses of places as columns of a table of places."""
    columns: dict[str, AnyArray] = {
        name: np.full(0, "", dtype=object) if dtype == "string" else np.zeros(0, dtype)
        for name, dtype in PLACE_DTYPES.items()
    }
    rows = np.flatnonzero(places["postcode"] != "")
    if not rows.size:
        return columns
    codes, of = np.unique(places["postcode"][rows].astype(str), return_inverse=True)
    n = codes.size
    columns = {name: np.full(n, "" if values.dtype == object else 0, values.dtype) for name, values in columns.items()}
    columns["name"][:] = columns["postcode"][:] = codes.tolist()
    # People also write them without blanks and hyphens.
    columns["other_names"][:] = ["".join(tokens_of(code)) for code in codes.tolist()]
    columns["kind"][:] = "place=postcode"
    for name in ("city", "country"):
        texts = pd.DataFrame({"of": of, "text": places[name][rows].astype(str)})
        usual = texts[texts["text"] != ""].groupby("of")["text"].agg(lambda group: group.value_counts().index[0])
        columns[name][usual.index.to_numpy()] = usual.to_numpy(object)
    lng, lat = (places[name][rows].astype(np.float64) for name in ("lng", "lat"))
    middle = pd.DataFrame({"of": of, "lng": lng, "lat": lat}).groupby("of").median()
    far = np.hypot((lng - middle["lng"].to_numpy()[of]) * np.cos(np.radians(lat)), lat - middle["lat"].to_numpy()[of])
    # The address nearest to the middle of all, because the middle may be in a river.
    order = np.lexsort((far, of))
    chosen = order[np.searchsorted(of[order], np.arange(n))]
    columns["lng"][:], columns["lat"][:] = lng[chosen], lat[chosen]
    for name, function, values in (
        ("west", np.minimum, lng), ("south", np.minimum, lat), ("east", np.maximum, lng), ("north", np.maximum, lat),
    ):  # fmt: skip
        columns[name][:] = np.inf if function is np.minimum else -np.inf
        function.at(columns[name], of, values)
    return columns


def _classes(t: StreetTables, edges: Int64Array, of: Int64Array, n: int) -> list[str]:
    """Return the class that most of each street has, as ``highway=...``."""
    highway, code = np.unique(t.uses["highway"].to_numpy().astype(str), return_inverse=True)
    metres = np.bincount(
        of * len(highway) + code[t.edge_use[edges]], weights=t.edge_length_m[edges], minlength=n * len(highway)
    )
    return [f"highway={highway[best]}" for best in metres.reshape(n, len(highway)).argmax(axis=1)]
