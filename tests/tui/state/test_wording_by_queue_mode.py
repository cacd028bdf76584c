"""Each mode, pause and partition has its verb forms: the indicative only where the plan is carried out."""

from __future__ import annotations

from typing import Any

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import NOON_S, a_server_status, changed
from tests.tui.server_with_reservation import with_reservation
from tests.tui.written_journal_and_audit import a_pass
from tui.backends.pass_journal import Pass, Passes
from tui.state.cluster_view import ClusterView, see
from tui.state.wording_by_queue_mode import Wording, preemptions_in, preemptions_of, starts_in, starts_of

DONE, UNDONE = Wording(), Wording("workq is in observe: nothing of this is carried out")


def cluster_in(mode: str, **last: Any) -> ClusterView:
    """One queue, ``workq``, in a mode; ``last`` is part of the last pass."""
    server_status = a_server_status()
    queue = {**server_status.queues["workq"], "resources_available.pbsteer_mode": mode}
    passes = Passes((Pass(NOON_S - 5, {**a_pass(5), **last}),)) if last else Passes()
    server_status = changed(server_status, queues={"workq": queue})
    return see(server_status, Settings(), Ledger(), 0.1, passes=passes)


@pytest.mark.parametrize(
    ("wording", "forms"),
    [
        (DONE, ["starts", "to be preempted", "started", "preempted", "preemptible", "is", "at once"]),
        (
            UNDONE,
            [
                "would start",
                "would be preempted",
                "would have been started",
                "would have preempted",
                "would be preemptible",
                "would be",
                "not carried out: at once",
            ],
        ),
    ],
)
def test_every_form_has_an_indicative_and_a_conditional(wording: Wording, forms: list[str]) -> None:
    assert [
        wording.does("start"),
        wording.is_to_be("preempted"),
        wording.was("started"),
        wording.did("preempted"),
        wording.may_be("preemptible"),
        wording.choose("is", "would be"),
        wording.of_plan("at once"),
    ] == forms


@pytest.mark.parametrize(
    ("mode", "starts", "preempts"),
    [
        ("observe", "would start", "would preempt"),
        ("advise", "would start", "preempts"),
        ("drive", "starts", "preempts"),
    ],
)
def test_a_mode_carries_out_all_only_preemptions_or_nothing(mode: str, starts: str, preempts: str) -> None:
    cluster = cluster_in(mode)
    assert (starts_in(cluster, "workq").does("start"), preemptions_in(cluster, "workq").does("preempt")) == (
        starts,
        preempts,
    )


def test_a_queue_in_drive_whose_partition_pbs_serves_would_start() -> None:
    note = "queue workq is not driven: partition pilot is served by PBS's scheduler"
    wording = starts_in(cluster_in("drive", acted=[], notes=[note]), "workq")
    assert wording.does("start") == "would start"
    assert wording.undone.endswith("did not drive workq: partition pilot is served by PBS's scheduler")


def test_a_pause_comes_before_the_mode() -> None:
    cluster = cluster_in("drive", acted=["workq"], paused="pbsteer is paused by set server scheduling = False: ...")
    for wording in (starts_in(cluster, "workq"), preemptions_in(cluster, "workq")):
        assert wording.undone == "pbsteer is paused by set server scheduling = False"


@pytest.mark.parametrize(
    ("entry", "started", "preempted"),
    [
        ({}, "started", "preempted"),
        (
            {"acted": [], "preempted_in": ["workq"], "modes": {"workq": "advise"}},
            "would have been started",
            "preempted",
        ),
        ({"acted": [], "modes": {"workq": "observe"}}, "would have been started", "would have been preempted"),
        ({"acted": [], "paused": "pbsteer is paused: ..."}, "would have been started", "would have been preempted"),
    ],
)
def test_a_pass_is_spoken_of_by_what_it_carried_out(entry: dict[str, Any], started: str, preempted: str) -> None:
    made = Pass(NOON_S, {**a_pass(0), **entry})
    assert starts_of(made, "workq").was("started") == started
    assert preemptions_of(made, "workq").was("preempted") == preempted


def test_what_a_pass_left_undone_in_a_pause_is_laid_to_the_pause() -> None:
    made = Pass(NOON_S, {**a_pass(0), "acted": [], "paused": "pbsteer is paused: ..."})
    assert starts_of(made, "workq").undone == "pbsteer was paused: nothing of this was carried out"


def test_the_queue_of_a_reservation_has_no_mode() -> None:
    """``S13`` is not said to be in observe: PBS's scheduler starts its jobs."""
    cluster = see(with_reservation(a_server_status()), Settings(), Ledger(), 0.1)
    undone = starts_in(cluster, "S13").undone
    assert undone.startswith("S13 is the queue of reservation S13 of adm, which begins at ")
    assert undone.endswith(": PBS's scheduler starts its jobs")
