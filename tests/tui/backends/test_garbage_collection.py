"""The collector beside polls: held back while somebody works, on again when nobody does, and whole now and then."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from tui.backends import thread_and_gc_tuning as fluency
from tui.backends.thread_and_gc_tuning import Collector


class Cyclic:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.myself = self


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


@pytest.fixture
def now_s() -> list[float]:
    return [0.0]


@pytest.fixture
def collector(now_s: list[float]) -> Collector:
    return Collector(lambda: now_s[0])


def test_it_is_held_back_until_the_last_has_done(collector: Collector) -> None:
    with collector.frozen_objects():
        with collector.frozen_objects():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_works_again_after_a_failure(collector: Collector) -> None:
    with pytest.raises(ZeroDivisionError), collector.frozen_objects():
        _ = 1 / 0
    assert gc.isenabled()


def leave_garbage(collector: Collector) -> weakref.ref[Cyclic]:
    with collector.frozen_objects():
        garbage = Cyclic()
    return weakref.ref(garbage)


def test_what_is_out_of_sight_is_collected_after_a_while(collector: Collector, now_s: list[float]) -> None:
    garbage = leave_garbage(collector)
    gc.collect()
    assert garbage() is not None
    now_s[0] = 1801.0
    with collector.frozen_objects():
        pass
    assert garbage() is None


@pytest.mark.parametrize(("least", "is_collected"), [(10**9, False), (10, True)])
def test_what_is_out_of_sight_is_collected_sooner_where_it_has_become_much(
    now_s: list[float], monkeypatch: pytest.MonkeyPatch, least: int, is_collected: bool
) -> None:
    monkeypatch.setattr(fluency, "_LEAST_FROZEN", least)
    collector = Collector(lambda: now_s[0])
    garbage = leave_garbage(collector)
    now_s[0] = 61.0
    with collector.frozen_objects():
        pass
    assert (garbage() is None) == is_collected
