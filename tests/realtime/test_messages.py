"""GTFS Realtime messages are read as protobuf's own parser does, and what is none is an error."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.support import oracles_realtime as twin
from traveltime_lab.errors import DataError, InputError, LimitError, MissingFileError
from traveltime_lab.realtime import sources
from traveltime_lab.realtime.json_messages import _varint as varint
from traveltime_lab.realtime.json_messages import to_bytes
from traveltime_lab.realtime.messages import read_messages
from traveltime_lab.realtime.schema import FIELDS, is_message
from traveltime_lab.realtime.sources import NONE, Fields, Source, sources_of

pytestmark = pytest.mark.quick

MESSAGE: dict[str, Any] = {
    "header": {"gtfs_realtime_version": "2.0", "timestamp": 1_772_900_000},
    "entity": [
        {
            "id": "one",
            "trip_update": {
                "trip": {"trip_id": "t", "start_date": "20260308", "schedule_relationship": "CANCELED"},
                "delay": -30,
                "stop_time_update": [
                    {"stop_sequence": 3, "arrival": {"delay": -5}, "departure": {"time": 1_772_900_100}},
                    {"stop_id": "Åsa", "schedule_relationship": "SKIPPED"},
                ],
            },
        },
        {
            "id": "two",
            "vehicle": {"trip": {"trip_id": "t"}, "position": {"latitude": 40.5, "longitude": -73.25, "speed": 9.5}},
        },
        {
            "id": "three",
            "alert": {
                "effect": "DETOUR",
                "informed_entity": [{"route_id": "R"}, {"stop_id": "a"}],
                "active_period": [{"start": 5}, {"end": 9}],
                "header_text": {
                    "translation": [{"text": "Umleitung", "language": "de"}, {"text": "Detour", "language": "en"}]
                },
            },
        },
    ],
}


def packed(value: Any = MESSAGE) -> bytes:
    return to_bytes(json.dumps(value).encode(), "test")


def fields(content: bytes) -> Fields:
    return Fields(Source("test", None, content))


def pool() -> Any:
    """Return the class of feed messages that protobuf makes from the table of fields."""
    descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
    from google.protobuf import descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="feed.proto", package="feed", syntax="proto2")
    kinds = {"text": 9, "int": 3, "bool": 8, "float": 2}

    def add(name: str, inner: dict[str, Any]) -> None:
        message = file.message_type.add(name=name)
        for field, (number, what) in inner.items():
            one = message.field.add(name=field, number=number, label=3 if is_message(what) else 1)
            if is_message(what):
                one.type, one.type_name = 11, f".feed.{name}_{field}"
                add(f"{name}_{field}", what)
            else:
                one.type = kinds[what] if isinstance(what, str) else 3

    add("M", FIELDS)
    own = descriptor_pool.DescriptorPool()
    own.Add(file)
    return message_factory.GetMessageClass(own.FindMessageTypeByName("feed.M"))


class TestRead:
    def test_columns(self) -> None:
        found = read_messages([Source("test", None, packed())])
        trips = found.trips
        assert (len(trips), trips.trip_id[0], trips.relation[0], trips.delay[0]) == (1, "t", 3, -30)
        assert trips.sequence.tolist() == [3, NONE]
        assert trips.stop_id.tolist() == ["", "Åsa"]
        assert trips.arrival_delay.tolist() == [-5, NONE]
        assert trips.departure_time.tolist() == [1_772_900_100, NONE]
        assert trips.stop_relation.tolist() == [0, 1]
        (alert,) = found.alerts
        assert (alert["header"], alert["effect"]) == ("Detour", "DETOUR")
        assert alert["periods"] == [(5, None), (None, 9)]
        assert alert["selectors"] == [{"route_id": "R"}, {"stop_id": "a"}]
        assert found.vehicles[["lng", "lat", "speed"]].to_numpy().tolist() == [[-73.25, 40.5, 9.5]]

    def test_both_spellings_of_json(self) -> None:
        def camel(value: Any) -> Any:
            if isinstance(value, dict):
                return {"".join([a, *(b.title() for b in rest)]): camel(inner) for (a, *rest), inner in
                        ((key.split("_"), inner) for key, inner in value.items())}  # fmt: skip
            return [camel(each) for each in value] if isinstance(value, list) else value

        assert packed(camel(MESSAGE)) == packed()

    @pytest.mark.pythons
    @pytest.mark.parametrize("seed", range(20))
    def test_equals_protobuf(self, seed: int) -> None:
        """Values of a random message, and of messages cut and changed at random, are those of protobuf's parser."""
        message = pool()
        from google.protobuf.message import DecodeError

        dice = random.Random(seed)
        tables = twin.random_feed(dice)
        content = packed(twin.message(twin.random_updates(tables, dice), 1_772_900_000))
        place = "entity.trip_update.stop_time_update"
        for _ in range(60):
            theirs = message()
            try:
                theirs.ParseFromString(content)
                stops = [s for e in theirs.entity for u in e.trip_update for s in u.stop_time_update]
            except DecodeError:
                stops = None
            try:
                ours = fields(content) if content else None
            except DataError as error:
                assert stops is None or "no header" in str(error)
                ours = None
            if ours is not None and stops is not None:
                assert ours.count(place) == len(stops)
                expected = [s.stop_sequence if s.HasField("stop_sequence") else NONE for s in stops]
                assert ours.numbers(place, "stop_sequence").tolist() == expected
                delays = [s.arrival[-1].delay if s.arrival and s.arrival[-1].HasField("delay") else NONE for s in stops]
                if all(len(s.arrival) < 2 for s in stops):
                    assert ours.numbers(place, "arrival.delay").tolist() == delays
            broken = bytearray(content)
            if broken and dice.random() < 0.5:
                broken[dice.randrange(len(broken))] = dice.randrange(256)
            elif broken:
                del broken[dice.randrange(len(broken)) :]
            content = bytes(broken) if dice.random() < 0.7 else content

    def test_what_a_source_may_be(self, tmp_path: Path) -> None:
        path = tmp_path / "trips.pb"
        path.write_bytes(packed())
        (tmp_path / "trips.json").write_bytes(b"\xef\xbb\xbf\n" + json.dumps(MESSAGE).encode())
        (tmp_path / "trips.pb.gz").write_bytes(gzip.compress(packed()))

        class Message:
            def SerializeToString(self) -> bytes:
                return packed()

        for given in (path, str(path), tmp_path / "trips.json", tmp_path / "trips.pb.gz", packed(), Message()):
            (found,) = sources_of(given)
            assert found.content == packed()
        several = sources_of({"bus": [path, packed()], "rail": packed()})
        assert [(each.name, each.feed) for each in several] == [
            ("trips.pb", "bus"), ("the message", "bus"), ("the message", "rail"),
        ]  # fmt: skip

    def test_empty_is_valid(self) -> None:
        found = read_messages([Source("test", None, packed({"header": {"gtfs_realtime_version": "2.0"}}))])
        assert len(found.trips) == len(found.alerts) == len(found.vehicles) == 0

    def test_extensions_and_deleted_entities_are_passed_over(self) -> None:
        value = json.loads(json.dumps(MESSAGE))
        value["entity"][0]["is_deleted"] = True
        extension = bytes([0xCA, 0x3E, 3, 1, 2, 3])  # field 1001
        found = read_messages([Source("test", None, packed(value) + extension)])
        assert len(found.trips) == 0
        assert len(found.alerts) == 1


class TestRefused:
    def test_truncated(self) -> None:
        content = packed()
        for n in range(1, len(content)):
            try:
                read_messages([Source("test", None, content[:n])])
            except DataError as error:
                assert "test is no complete GTFS Realtime message" in str(error)

    @pytest.mark.parametrize(
        "content",
        [b"", b"not valid pb data", b"\x00", b"\x0b" * 50, b"\x12" + b"\xff" * 30, b"{", b'{"a": 1}', b"[]" * 5,
         b'{"header": 5}', b'{"header": {}, "entity": [{"trip_update": {"delay": "x"}}]}',
         b'{"header": {"timestamp": 1e400}}', b'{"header": {"timestamp": 99999999999999999999}}',
         b'{"header":' * 5000, b'{"header": {}, "entity": {"id": {}}}', b"\x1f\x8b123",
         gzip.compress(packed(), mtime=0)[:-9]],
    )  # fmt: skip
    def test_what_is_no_message(self, content: bytes) -> None:
        with pytest.raises(DataError):
            read_messages(sources_of(content))

    def test_other_sources(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="Download it first"):
            sources_of("https://example.org/trips.pb")
        with pytest.raises(InputError, match="got int"):
            sources_of(5)
        with pytest.raises(InputError, match="names of feeds"):
            sources_of({5: packed()})
        with pytest.raises(MissingFileError):
            sources_of(tmp_path / "none.pb")

    @pytest.mark.slow
    def test_too_large(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        bomb = gzip.compress(bytes(100_000_000))
        with pytest.raises(LimitError, match="unpacks to more"):
            sources_of(bomb)
        monkeypatch.setattr(sources, "MOST_BYTES", 10)
        path = tmp_path / "trips.pb"
        path.write_bytes(packed())
        for given in (path, packed()):
            with pytest.raises(LimitError, match="more than 10 bytes"):
                sources_of(given)
        monkeypatch.setattr(sources, "MOST_VALUES", 10)
        with pytest.raises(LimitError, match="at most 10 can be read"):
            fields(packed())

    @pytest.mark.parametrize("place", [*sources.MOST_PARTS])
    def test_too_many_parts(self, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
        value: Any = {}
        names = place.split(".")
        for name in reversed(names[1:]):
            value = {name: [value, value] if name == names[-1] else value}
        message = {"header": {}, "entity": [value, value] if place == "entity" else value}
        assert fields(packed(message)).count(place) == 2
        monkeypatch.setitem(sources.MOST_PARTS, place, 1)
        with pytest.raises(LimitError, match=f"test has 2 messages at {place}; at most 1 can be read"):
            fields(packed(message))

    @pytest.mark.slow
    def test_small_messages_of_much_memory(self) -> None:
        """A few packed kilobytes of empty entities are refused before they are objects."""
        n = 5_100_000
        alert = b"\x2a" + varint(2 * n) + b"\x2a\x00" * n
        entity = b"\x0a\x01a" + alert
        content = packed({"header": {}, "entity": []}) + b"\x12" + varint(len(entity)) + entity
        with pytest.raises(LimitError, match="unpacks to more than"):
            sources_of(gzip.compress(content, 9))
        with pytest.raises(LimitError, match=r"informed_entity; at most 500,000 can be read"):
            fields(content)
        for part, text in ((b"{},", "at most 5,000,000 can be read"), (b'{"": 1},' * 2, "more than 67,108,864 bytes")):
            with pytest.raises(LimitError, match=text):
                sources_of(b'{"header":{},"entity":[' + part * n + b"{}]}")

    def test_bytes_that_are_no_utf8(self) -> None:
        assert read_messages([Source("test", None, packed().replace("Åsa".encode(), b"\xff\xfe\xfda"))])


class TestMistakes:
    """What is given in place of a message is named shortly, with what to pass."""

    @pytest.mark.parametrize(
        "text", [json.dumps(MESSAGE), json.dumps(MESSAGE, indent=1), "\ufeff{ " + '"header": 1}', "x" * 5000]
    )
    def test_texts(self, text: str) -> None:
        with pytest.raises(InputError, match=r"got a text of [\d,]+ characters.*text\.encode\(\)") as caught:
            sources_of(text)
        assert len(str(caught.value)) < 200

    def test_messages_as_dicts(self) -> None:
        for given in (MESSAGE, [MESSAGE], {"feed": MESSAGE}):
            with pytest.raises(InputError, match=r"got a message as a dict\. Pass json\.dumps\(message\)\.encode\(\)"):
                sources_of(given)

    def test_folders(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"got the folder .* Name its files"):
            sources_of(tmp_path)

    def test_lists_that_contain_themselves(self) -> None:
        endless: list[Any] = []
        endless.append(endless)
        keyed: dict[str, Any] = {}
        keyed["feed"] = [keyed]
        for given in (endless, keyed):
            with pytest.raises(InputError, match="contains itself"):
                sources_of(given)

    @pytest.mark.parametrize(("text", "n"), [("false", 1), ("False", 1), ("true", 0), (0, 1), (True, 0)])
    def test_truth_as_a_text(self, text: Any, n: int) -> None:
        entity = {**MESSAGE["entity"][0], "is_deleted": text}
        content = packed({**MESSAGE, "entity": [entity]})
        assert len(read_messages([Source("test", None, content)]).trips) == n
        with pytest.raises(DataError, match=r"is_deleted must be a whole number; got 'no'"):
            packed({**MESSAGE, "entity": [{**entity, "is_deleted": "no"}]})
