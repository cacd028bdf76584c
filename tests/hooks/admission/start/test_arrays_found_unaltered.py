"""Arrays that were found unaltered a moment ago."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from hooks.admission.start.arrays_found_unaltered import forget_arrays, is_found_unaltered, note_unaltered

ARRAY, SUBJOB, PLANNED, READ_S = "8[].s", "fedcba9876543210", "0123456789abcdef", 1000.5


class Clock:
    def __init__(self) -> None:
        self.now_s = 50.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    yield clock
    forget_arrays()


def test_an_array_is_not_read_again_for_its_other_subjobs_for_a_second(clock: Clock) -> None:
    assert not is_found_unaltered(ARRAY, SUBJOB, PLANNED, READ_S)
    note_unaltered(ARRAY, SUBJOB, PLANNED, READ_S)
    clock.now_s += 0.9
    assert is_found_unaltered(ARRAY, SUBJOB, PLANNED, READ_S)
    clock.now_s += 0.2
    assert not is_found_unaltered(ARRAY, SUBJOB, PLANNED, READ_S)


@pytest.mark.parametrize(
    ("array", "subjob", "planned", "read_s"),
    [
        ("9[].s", SUBJOB, PLANNED, READ_S),
        (ARRAY, "another", PLANNED, READ_S),
        (ARRAY, SUBJOB, "another", READ_S),
        (ARRAY, SUBJOB, PLANNED, READ_S + 1),
    ],
    ids=["another array", "another subjob", "another plan", "a later pass"],
)
def test_what_was_found_is_only_of_that_array_plan_and_pass(
    clock: Clock, array: str, subjob: str, planned: str, read_s: float
) -> None:
    note_unaltered(ARRAY, SUBJOB, PLANNED, READ_S)
    assert not is_found_unaltered(array, subjob, planned, read_s)


def test_an_alteration_and_a_later_pass_drop_it(clock: Clock) -> None:
    note_unaltered(ARRAY, SUBJOB, PLANNED, READ_S)
    forget_arrays()
    assert not is_found_unaltered(ARRAY, SUBJOB, PLANNED, READ_S)
    note_unaltered(ARRAY, SUBJOB, PLANNED, READ_S)
    note_unaltered("9[].s", SUBJOB, PLANNED, READ_S + 1)
    assert not is_found_unaltered(ARRAY, SUBJOB, PLANNED, READ_S)
