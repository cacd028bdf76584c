"""The line of places: back and forth, cut off where one turns, bounded, and a jump that keeps what it led to."""

from __future__ import annotations

from tui.screen.views.bases.visited_places import MOST, Place, Places


def test_back_and_forth_and_what_lay_ahead_is_forgotten_by_going_elsewhere() -> None:
    places = Places()
    places.go(Place("overview"), Place("queues"))
    places.go(Place("queues", cursor="gpu"), Place("jobs"))
    assert places.step(Place("jobs", filter="alice"), -1) == Place("queues", cursor="gpu")
    assert places.step(Place("queues", cursor="workq"), 1) == Place("jobs", filter="alice")
    assert places.step(places.here, 1) is None
    assert places.step(places.here, -1) == Place("queues", cursor="workq")
    places.go(places.here, Place("plan"))
    assert places.step(places.here, 1) is None
    assert [place.view for place in places.line] == ["overview", "queues", "plan"]


def test_a_jump_is_left_with_the_filter_that_it_led_to() -> None:
    places = Places()
    places.go(Place("overview"), Place("jobs", filter="user:=a", jumped=True, before="state:Q"))
    places.go(Place("jobs", filter="typed since", cursor="12"), Place("vnodes"))
    assert places.step(places.here, -1) == Place("jobs", "", "user:=a", "12", jumped=True, before="state:Q")


def test_the_line_is_bounded() -> None:
    places = Places()
    for number in range(3 * MOST):
        places.go(places.here, Place("job", subject=str(number)))
    assert len(places.line) == MOST
    assert places.here.subject == str(3 * MOST - 1)
