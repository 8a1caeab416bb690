"""Values that are derived from an owner: one object for all who ask, pinned or not, shared or not."""

from __future__ import annotations

import threading

from traveltime_lab.runtime.memo import Derived, Memo


class Owner:
    def __init__(self) -> None:
        self.memo = Memo()


def never() -> object:
    raise AssertionError("made again")


def test_pinned_by_one_owner_and_shared_by_another() -> None:
    kind = Derived[int, object]("things", kept=2)
    one, other = Owner(), Owner()
    other.memo.share(one.memo, [kind])
    made = kind.of(one, 1, object)
    kind.pin(one, 1, made)
    assert kind.is_ready(other, 1)
    assert kind.get(other, 1) is kind.of(other, 1, never) is made
    assert kind.get(one, 2) is None
    # Read from a file by the one, in place of what was computed.
    read = object()
    kind.pin(one, 1, read)
    assert kind.of(one, 1, never) is read
    assert kind.of(other, 1, never) is read


def test_pinned_while_another_thread_computes_it() -> None:
    kind = Derived[int, object]("things")
    owner, pinned = Owner(), object()
    begun, goes_on = threading.Event(), threading.Event()
    found: list[object] = []

    def slowly() -> object:
        begun.set()
        assert goes_on.wait(60)
        return object()

    thread = threading.Thread(target=lambda: found.append(kind.of(owner, 1, slowly)))
    thread.start()
    assert begun.wait(60)
    kind.pin(owner, 1, pinned)
    goes_on.set()
    thread.join()
    assert found == [pinned]
    assert kind.of(owner, 1, never) is pinned


def test_pinned_values_outlast_others() -> None:
    kind = Derived[int, object]("things", kept=1)
    owner = Owner()
    made = kind.of(owner, 1, object)
    kind.pin(owner, 1, made)
    for key in (2, 3, 4):
        kind.of(owner, key, object)
    assert kind.of(owner, 1, never) is made
    assert len(owner.memo.entries[kind]) == 1
