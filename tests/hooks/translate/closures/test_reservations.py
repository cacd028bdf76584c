"""Reservations as PBS tells them, and the windows that they are."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

import pytest

from hooks.pbs.job_attributes.job_ids_and_states import LATEST_S
from hooks.translate.closures.reservations import read_reservations
from policy.model.jobs_runs_vnodes_queues import Vnode, Window
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import NOW_S, problems_of, server_status, snapshot_of, vnode

HOUR_S = 3600


def resv(nodes: str = "(v1:ncpus=2)", start_s: float = NOW_S + 60, lasts_s: float = 600, **more: str) -> dict[str, str]:
    """A confirmed one, as the server tells it."""
    texts = {
        "queue": "R8",
        "reserve_state": "2",
        "reserve_substate": "2",
        "reserve_start": f"{start_s:.0f}",
        "reserve_end": f"{start_s + lasts_s:.0f}",
        "resv_nodes": nodes,
        "Resource_List.place": "free",
        "reserve_count": "1",
    }
    return texts | {name.replace("__", "."): value for name, value in more.items()}


def seen(reservations: Mapping[str, Mapping[str, str]], **vnodes: Mapping[str, str]) -> dict[str, Vnode]:
    """The vnodes of a picture with these reservations: v1 and v2 of 8 idle cores where none are given."""
    return snapshot_of(server_status(vnodes=vnodes or None, reservations=reservations), Settings()).vnodes


def windows(texts: Mapping[str, str], name: str = "R8.server") -> dict[str, list[tuple[float, float, object]]]:
    """What one reservation keeps of each vnode, in seconds from now."""
    vnodes = seen({name: texts}, v1=vnode(resources_available__host="h"), v2=vnode(resources_available__host="h"))
    return {
        name: [(w.start_s - NOW_S, w.end_s - NOW_S, w.amounts) for w in each.closed]
        for name, each in vnodes.items()
        if each.closed
    }


def test_a_reservation_keeps_what_its_nodes_say() -> None:
    vnodes = seen({"R8.server": resv("(v1:ncpus=2:mem=1048576kb)+(v1:ncpus=2:mem=1048576kb)+(v2:ncpus=1)")})
    span = (NOW_S + 60, NOW_S + 660, "reservation R8")
    assert vnodes["v1"].closed == (Window(*span, (("mem", 2 << 20), ("ncpus", 4))),)
    assert vnodes["v2"].closed == (Window(*span, (("ncpus", 1),)),)
    assert all(each.usable for each in vnodes.values())


def test_an_exclusive_one_keeps_its_vnodes_and_one_with_exclhost_those_of_the_host() -> None:
    assert windows(resv(Resource_List__place="scatter:excl")) == {"v1": [(60, 660, None)]}
    assert windows(resv(Resource_List__place="exclhost")) == {"v1": [(60, 660, None)], "v2": [(60, 660, None)]}


@pytest.mark.parametrize(
    ("sharing", "place", "whole"),
    [
        ("default_shared", "free", ""),
        ("default_excl", "free", "v1"),
        ("default_excl", "free:shared", ""),
        ("default_exclhost", "free", "v1 v2"),
        ("default_exclhost", "free:excl", "v1"),
        ("default_exclhost", "free:shared", ""),
        ("force_excl", "free:shared", "v1"),
        ("force_exclhost", "free:shared", "v1 v2"),
        ("ignore_excl", "exclhost", ""),
    ],
)
def test_a_vnode_that_gives_itself_or_its_host_to_one_gives_it_to_a_reservation(
    sharing: str, place: str, whole: str
) -> None:
    on_host = {name: {**vnode(), "sharing": sharing, "resources_available.host": "h"} for name in ("v1", "v2")}
    found = seen({"R8.server": resv(Resource_List__place=place)}, **on_host)
    kept = {name: [window.amounts for window in each.closed] for name, each in found.items() if each.closed}
    if whole:
        assert kept == {name: [None] for name in whole.split()}
    else:
        assert kept == {"v1": [(("ncpus", 2),)]}


def test_maintenance_keeps_all_of_its_vnodes() -> None:
    assert windows(resv("(v1:ncpus=8)"), "M8.server") == {"v1": [(60, 660, None)]}


@pytest.mark.parametrize(
    "texts",
    [
        resv("", reserve_state="1", reserve_substate="1"),
        resv(reserve_state="8"),
        resv(reserve_state="6"),
    ],
)
def test_one_that_has_no_vnodes_or_is_gone_keeps_none(texts: Mapping[str, str]) -> None:
    assert windows(texts) == {}


@pytest.mark.parametrize("state", ["2", "4", "5", "7", "9", "10", "11", "12"])
def test_one_that_has_vnodes_keeps_them_in_whatever_state(state: str) -> None:
    assert windows(resv(reserve_state=state))["v1"] == [(60, 660, (("ncpus", 2),))]


def test_a_running_one_is_counted_once() -> None:
    """The server counts its two cores as assigned, its own job's among them, beside the three of a job elsewhere."""
    running = resv(start_s=NOW_S - 60, reserve_state="5", reserve_substate="5")
    v1 = seen({"R8.server": running}, v1=vnode(used=5))["v1"]
    assert (v1.elsewhere, v1.closed[0].amounts, v1.usable) == ({"ncpus": 3}, (("ncpus", 2),), True)


def test_a_vnode_that_a_running_one_has_alone_is_closed_and_not_gone() -> None:
    running = resv(start_s=NOW_S - 60, reserve_state="5", Resource_List__place="excl")
    v1 = seen({"R8.server": running}, v1=vnode(used=2, state="resv-exclusive"))["v1"]
    assert (v1.usable, v1.elsewhere, v1.closed[0].amounts) == (True, {}, None)
    assert not seen({}, v1=vnode(state="resv-exclusive"))["v1"].usable
    assert not seen({"R8.server": running}, v1=vnode(state="offline,resv-exclusive"))["v1"].usable


def test_one_that_should_be_over_and_still_runs_keeps_its_vnodes() -> None:
    late = resv(start_s=NOW_S - 600, lasts_s=590, reserve_state="9", reserve_substate="5")
    assert windows(late)["v1"] == [(-600, 60, (("ncpus", 2),))]


def standing(rule: str, index: int, count: int, execvnodes: str = "", **more: str) -> dict[str, str]:
    """A standing reservation before its occurrence `index` of `count`; ``execvnodes`` says where each is."""
    texts = resv(reserve_standing="1", reserve_rrule=rule, reserve_index=f"{index}", reserve_count=f"{count}")
    return texts | ({"reserve_execvnodes": execvnodes} if execvnodes else {}) | more


def test_a_standing_one_keeps_every_occurrence_where_that_is() -> None:
    texts = standing("FREQ=DAILY;COUNT=4", 2, 4, "4#(v1:ncpus=2){0-1,3}(v2:ncpus=2){2}", reserve_timezone="UTC")
    day_s = 24 * HOUR_S
    assert windows(texts) == {
        "v1": [(60, 660, (("ncpus", 2),)), (60 + 2 * day_s, 660 + 2 * day_s, (("ncpus", 2),))],
        "v2": [(60 + day_s, 660 + day_s, (("ncpus", 2),))],
    }


def test_a_standing_one_confirmed_anew_has_only_what_is_to_come() -> None:
    texts = standing("FREQ=HOURLY;COUNT=9", 8, 9, "2#(v1:ncpus=2){0}(v2:ncpus=2){1}")
    assert windows(texts)["v2"] == [(60 + HOUR_S, 660 + HOUR_S, (("ncpus", 2),))]


def test_a_rule_that_cannot_be_read_keeps_the_vnodes_to_the_end() -> None:
    texts = standing("FREQ=DAILY;BYSETPOS=2", 1, 3)
    assert windows(texts)["v1"] == [(60, 660, (("ncpus", 2),)), (660, math.inf, (("ncpus", 2),))]
    assert "BYSETPOS" in problems_of(server_status(reservations={"S1.server": texts}), Settings())[0]


def test_times_that_cannot_be_read_keep_the_vnodes_and_are_reported() -> None:
    assert windows(resv() | {"reserve_end": "soon"})["v1"] == [(-NOW_S, math.inf, (("ncpus", 2),))]
    assert (
        "'soon'"
        in problems_of(server_status(reservations={"R8.server": resv() | {"reserve_end": "soon"}}), Settings())[0]
    )


def test_times_without_a_date_count_as_the_latest_that_has_one() -> None:
    """A promise at a later time would make the ledger unreadable."""
    texts = resv() | {"reserve_end": "9" * 17}
    assert windows(texts)["v1"] == [(60, LATEST_S - NOW_S, (("ncpus", 2),))]
    rare = standing(f"FREQ=HOURLY;INTERVAL={10**10}", 1, 3)
    assert windows(rare)["v1"] == [(60, 660, (("ncpus", 2),))], "an occurrence after all dates keeps nothing"


def test_one_that_ends_before_it_begins_keeps_nothing() -> None:
    assert windows(resv(lasts_s=-600)) == windows(resv(lasts_s=0)) == {}


def test_nodes_that_cannot_be_read_close_the_vnodes_that_name_the_reservation() -> None:
    vnodes = seen({"R8.server": resv("v1)(")}, v1=vnode(resv="R8.server, R9.server"), v2=vnode())
    assert [window.end_s for window in vnodes["v1"].closed] == [math.inf, math.inf]
    assert vnodes["v2"].closed == ()


def test_dates_are_read_as_pbs_prints_them() -> None:
    texts = resv() | {"reserve_start": "Sat Nov 21 03:28:00 2026", "reserve_end": "Sat Nov 21 03:38:00 2026"}
    (window,) = seen({"R8.server": texts})["v1"].closed
    assert window.end_s - window.start_s == 600


def test_vnodes_of_one_reservation_share_their_windows() -> None:
    nodes = "+".join(f"(v{number}:ncpus=2)" for number in range(50))
    found = read_reservations(server_status(reservations={"R8.server": resv(nodes)}), lambda _queue, _sentence: None)
    assert len({id(each) for each in found.windows.values()}) == 1


def test_hundreds_of_occurrences_on_all_vnodes_of_a_large_cluster_are_read_in_a_moment() -> None:
    """Any user may reserve so, and each pass reads it."""
    nodes = "+".join(f"(v{number}:ncpus=2)" for number in range(1000))
    recurring = standing("FREQ=DAILY;COUNT=400", 1, 400) | {
        "resv_nodes": nodes, "reserve_execvnodes": f"400#{nodes}{{0-399}}",
    }  # fmt: skip
    seen_by_pass = server_status(
        vnodes={f"v{number}": vnode() for number in range(1000)}, reservations={"S8.server": recurring}
    )
    began_s = time.process_time()
    found = read_reservations(seen_by_pass, lambda _queue, _sentence: None)
    assert time.process_time() - began_s < 2
    assert {len(each) for each in found.windows.values()} == {400}
