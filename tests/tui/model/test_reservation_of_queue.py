"""A queue's reservation: by the queue that it says, else by the queue's name; described as far as it is known."""

from __future__ import annotations

import pytest

from tests.tui.scripted_server import NOON_S, a_server_status
from tests.tui.server_with_reservation import BEGINS_S, UNTIL_S, with_reservation
from tui.model.reservation_of_queue import reservation_of
from tui.text.times_and_durations import clock_time

BEGINS, UNTIL = clock_time(BEGINS_S), clock_time(UNTIL_S)


@pytest.mark.parametrize(
    ("texts", "now_s", "words"),
    [
        ({}, NOON_S, f"reservation S13 of adm, which begins at {BEGINS} (in 10 min) and ends at {UNTIL}"),
        ({}, BEGINS_S + 1, f"reservation S13 of adm, which begins at {BEGINS} and ends at {UNTIL}"),
        ({"reserve_state": "5"}, BEGINS_S + 60, f"reservation S13 of adm, which runs until {UNTIL}"),
        ({"reserve_state": "5", "reserve_substate": "10"}, NOON_S, f"reservation S13 of adm, which runs until {UNTIL}"),
        ({"reserve_start": "soon"}, NOON_S, "reservation S13 of adm"),
    ],
)
def test_a_reservation_says_whose_it_is_and_when(texts: dict[str, str], now_s: float, words: str) -> None:
    found = reservation_of(with_reservation(a_server_status(), **texts), "S13")
    assert found is not None
    assert found.describe(now_s) == words


@pytest.mark.parametrize(("queue", "name"), [("R28", "R28"), ("M7", "M7"), ("workq", ""), ("Rgpu", ""), ("", "")])
def test_without_the_reservations_the_name_of_the_queue_tells(queue: str, name: str) -> None:
    found = reservation_of(a_server_status(), queue)
    assert (found.describe(NOON_S) if found else "") == (name and f"reservation {name}")
