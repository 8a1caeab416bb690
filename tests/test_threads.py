"""Work in threads: order, sharing of one pool, errors, cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from traveltime_lab.errors import InterruptedSearchError
from traveltime_lab.runtime.interrupts import interruptible
from traveltime_lab.runtime.memo import Derived, Memo
from traveltime_lab.runtime.progress import PARTS, watched
from traveltime_lab.runtime.threads import BLOCK, _pool, map_ahead, row_blocks, side_by_side
from traveltime_lab.settings import settings

pytestmark = [pytest.mark.quick, pytest.mark.pythons]


@pytest.fixture(params=[1, 2, 4], autouse=True)
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    with settings.override(threads=request.param):
        yield request.param


def test_results_are_in_order() -> None:
    def job(i: int) -> int:
        time.sleep(0.002 * (i % 3))
        return i

    assert side_by_side([lambda i=i: job(i) for i in range(20)]) == list(range(20))
    assert list(map_ahead(job, range(20))) == list(range(20))
    assert side_by_side([]) == list(map_ahead(job, [])) == []


def test_jobs_may_have_jobs() -> None:
    """Also more of them than there are threads, in one pool."""

    def outer(i: int) -> int:
        inner = side_by_side([lambda j=j: i * j for j in range(5)])
        return sum(inner) + sum(map_ahead(lambda j: sum(side_by_side([lambda: j, lambda: 1])), range(4)))

    expected = [10 * i + 10 for i in range(8)]
    assert side_by_side([lambda i=i: outer(i) for i in range(8)]) == expected
    assert list(map_ahead(outer, range(8))) == expected


def test_callers_share_one_pool(threads: int) -> None:
    before = threading.active_count()
    most: list[int] = []

    def call() -> None:
        list(map_ahead(lambda i: (time.sleep(0.002), most.append(threading.active_count())), range(10)))
        side_by_side([lambda: time.sleep(0.002)] * 10)

    callers = [threading.Thread(target=call) for _ in range(12)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(20)
    assert max(most) <= before + len(callers) + threads - 1


def test_nothing_runs_after_an_error() -> None:
    running = []

    def job(i: int) -> int:
        if i == 3:
            raise ValueError("three")
        running.append(i)
        time.sleep(0.01)
        running.remove(i)
        return i

    with pytest.raises(ValueError, match="three"):
        side_by_side([lambda i=i: job(i) for i in range(50)])
    assert running == []
    with pytest.raises(ValueError, match="three"):
        list(map_ahead(job, range(50)))
    assert running == []
    some = map_ahead(job, [0, 1, 2, 4, 5])
    assert next(some) == 0
    some.close()
    assert running == []


def test_cancelled_jobs_do_not_begin() -> None:
    done: list[int] = []
    with interruptible(lambda: len(done) >= 4):
        with pytest.raises(InterruptedSearchError):
            side_by_side([lambda i=i: done.append(i) for i in range(100)])
        assert len(done) < 4 + settings.threads
        with pytest.raises(InterruptedSearchError):
            list(map_ahead(done.append, range(100)))
    assert len(done) < 4 + settings.threads


def test_a_wait_for_a_memo_can_be_cancelled() -> None:
    class Owner:
        memo = Memo()

    owner, kind = Owner(), Derived[str, int]("slow")
    go, began = threading.Event(), threading.Event()

    def make() -> int:
        began.set()
        go.wait(10)
        return 1

    maker = threading.Thread(target=lambda: kind.of(owner, "key", make))
    maker.start()
    assert began.wait(10)
    started = time.monotonic()
    with interruptible(lambda: time.monotonic() > started + 0.2), pytest.raises(InterruptedSearchError):
        kind.of(owner, "key", make)
    go.set()
    maker.join(10)
    assert kind.of(owner, "key", lambda: 2) == 1


def test_a_value_for_all_searches_is_finished_when_the_one_that_began_it_is_cancelled() -> None:
    class Owner:
        memo = Memo()

    owner, kind, done = Owner(), Derived[str, list[int]]("walks"), []

    def make() -> list[int]:
        side_by_side([lambda i=i: done.append(i) for i in range(20)])
        list(map_ahead(done.append, range(20)))
        return done

    with interruptible(lambda: True):
        assert len(kind.of(owner, "key", make)) == 40
        with pytest.raises(InterruptedSearchError):
            side_by_side([lambda: None])


def test_the_pool_is_kept(threads: int) -> None:
    if threads > 1:
        side_by_side([lambda: None] * 4)
        assert _pool(threads - 1) is _pool(threads - 1)


@pytest.mark.parametrize("is_watching", [False, True])
def test_rows_that_are_searched_together_stay_together(is_watching: bool) -> None:
    report = (lambda done, total: None) if is_watching else False
    with settings.override(threads=16), watched(report, 1, "Searching", "rows"):
        for n_rows in (0, 1, 31, 32, 63, 64, 100, 1_000, 10_000):
            blocks = row_blocks(n_rows, 10, fewest=32)
            assert [i for block in blocks for i in range(block.start, block.stop)] == list(range(n_rows))
            sizes = [block.stop - block.start for block in blocks]
            assert len(sizes) <= min(PARTS if is_watching else 16, max(1, n_rows // 32))
            assert all(size >= 32 for size in sizes[:-1])
        # Memory comes first.
        assert len(row_blocks(64, BLOCK, fewest=32)) == 64
        assert len(row_blocks(64, 10)) == (64 if is_watching else 16)
