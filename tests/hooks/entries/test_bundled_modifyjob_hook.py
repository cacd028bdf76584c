"""The bundled modifyjob hook: what users may alter, and what follows the alteration."""

from __future__ import annotations

import time
from typing import Any

import pytest

from hooks.store.event_hook_summary import SUMMARY
from tests.hooks.entries.submission_alteration_settings import (
    HALF,
    IN_ADVISE_TOO,
    MODES,
    STRIPED,
    alter,
    summary_of,
)
from tests.hooks.run_bundled_hook import SUMMARY_DATA, Hook, submit


def test_jobs_of_others_that_depend_on_a_job_keep_its_owner_from_no_alteration(hook: Hook) -> None:
    """PBS adds them to the job's own ``depend``, whoever has submitted them."""
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    added = "beforeany:" + ":".join(f"{number}.server@server" for number in range(600))
    one, long = {"select": "1:ncpus=1"}, {"software": "y" * 300}
    for depend in (added, f"afterok:7.server@server,{added}"):
        given = alter(one, long)
        given["job_o"]["depend"] = depend
        assert hook.run("modifyjob", events=[given])["verdicts"] == [None]
    own = alter(one, long)
    own["job_o"]["depend"] = "afterok:" + "7" * 8_000
    assert "beside its select has 8,308 characters" in hook.run("modifyjob", events=[own])["verdicts"][0]


def test_modifyjob_refuses_what_could_not_be_submitted_but_not_to_operators(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    before = {"select": "1:ncpus=4", "walltime": "10:00:00"}
    events = [
        alter(before, {"select": "1:ncpus=9"}),
        alter(before, {"pbsteer_layout": "wide"}),
        alter(before, {"select": "1:ncpus=8"}),
        alter(before, {"select": "1:ncpus=9"}, requestor="olga"),
    ]
    verdicts = hook.run("modifyjob", events=events, settings=IN_ADVISE_TOO)["verdicts"]
    assert [verdict is not None for verdict in verdicts] == [True, True, False, False]


def test_modifyjob_keeps_the_estimate_and_the_stripe_right(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    settings = {**HALF, "stripe": {"layout": "stripe"}}
    before = {**STRIPED, "walltime": "10:00:00", "soft_walltime": "05:00:00"}
    events = [
        alter(before, {"walltime": "04:00:00"}),
        alter(before, {"walltime": "00:10:00"}),
        alter(before, {"select": "1:ncpus=2:mpiprocs=2"}),
        alter(before, {"place": "pack"}),
        alter(before, {"walltime": "04:00:00"}, state=4),
        alter({**before}, {}),
    ]
    answer = hook.run("modifyjob", events=events, settings=settings)
    assert answer["verdicts"] == [None] * len(events)
    own = {"select": "1:ncpus=4:mpiprocs=4", "pbsteer_asked": ""}
    two = {"select": "2:ncpus=1:mpiprocs=1", "place": "scatter", "pbsteer_asked": "1:ncpus=2:mpiprocs=2"}
    assert [event["resources"] for event in answer["events"]] == [
        {"walltime": "04:00:00", "soft_walltime": "02:00:00"},
        {"walltime": "00:10:00", "soft_walltime": ""},
        two,
        {**own, "place": "pack"},
        {"walltime": "04:00:00", "soft_walltime": "02:00:00"},
        {},
    ]


QUEUED, HELD, RUNNING, BEGUN = 1, 2, 4, 7
SUBJOBS_RUN = {"array_state_count": "Queued:3 Running:2 Exiting:0 Expired:1 "}


NONE_RUN = {"array_state_count": "Queued:3 Running:0 Exiting:0 Expired:1 "}


@pytest.mark.parametrize(
    ("change", "state", "had", "more"),
    [
        ({"Rerunable": 0}, RUNNING, {}, {}),
        ({"Rerunable": 0}, BEGUN, {}, {}),
        ({"Rerunable": 0}, HELD, SUBJOBS_RUN, {}),
        ({"Checkpoint": "n"}, RUNNING, {}, {}),
        ({"Rerunable": 0}, RUNNING, {"Checkpoint": "n"}, {"Resource_List": {"walltime": "1:00:00"}}),
    ],
)
def test_modifyjob_refuses_users_to_keep_a_running_job_from_being_preempted(
    hook: Hook, change: dict[str, Any], state: int, had: dict[str, Any], more: dict[str, Any]
) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    event = alter({"select": "1"}, {}, state, **change)
    event.update(more)
    event["job_o"].update({"Rerunable": 1, "Checkpoint": "u", **had})
    (verdict,) = hook.run("modifyjob", events=[event])["verdicts"]
    assert "by managers and operators alone" in str(verdict)
    assert hook.run("modifyjob", events=[{**event, "requestor": "olga"}])["verdicts"] == [None]
    off = {"quota": {"confine_unpreemptible": False}}
    assert hook.run("modifyjob", events=[event], settings=off)["verdicts"] == [None]


@pytest.mark.parametrize(
    ("change", "state", "had"),
    [
        ({"Rerunable": 0}, QUEUED, {}),
        ({"Rerunable": 0}, HELD, {}),
        ({"Rerunable": 0}, HELD, NONE_RUN),
        ({"Rerunable": 1}, RUNNING, {"Rerunable": 0}),
        ({"Rerunable": 0}, RUNNING, {"Rerunable": 0}),
        ({"Checkpoint": "u"}, RUNNING, {}),
        ({"Checkpoint": "n"}, RUNNING, {"Checkpoint": "n"}),
    ],
)
def test_modifyjob_lets_a_user_say_what_changes_nothing_or_helps(
    hook: Hook, change: dict[str, Any], state: int, had: dict[str, Any]
) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    event = alter({"select": "1"}, {}, state, **change)
    event["job_o"].update({"Rerunable": 1, "Checkpoint": "u", **had})
    assert hook.run("modifyjob", events=[event])["verdicts"] == [None]


def test_modifyjob_in_observe_lets_users_do_as_pbs_does(hook: Hook) -> None:
    hook.state.publish(SUMMARY, summary_of("observe"), shared=False)
    event = alter({"select": "1"}, {}, RUNNING, Rerunable=0)
    assert hook.run("modifyjob", events=[event])["verdicts"] == [None]


def test_a_refusal_has_nothing_of_the_users_that_a_terminal_would_obey(hook: Hook) -> None:
    hook.state.publish(SUMMARY, summary_of("drive"), shared=False)
    (verdict,) = hook.run("queuejob", events=[submit(select="1:ncpus=1:host=x\x0b\x1b[31m11/22")])["verdicts"]
    assert r"host=x\x0b\x1b[31m11/22" in verdict
    assert verdict.isprintable()


@pytest.mark.parametrize(
    ("mode", "job_id", "more", "is_refused"),
    [
        ("drive", "7.server", {}, True),
        ("advise", "7.server", {}, True),
        ("drive", "7.server", {"requestor": "olga"}, False),
        ("observe", "7.server", {}, False),
        ("drive", "8.server", {}, False),
    ],
)
def test_an_alteration_that_pbs_could_not_show_is_refused_unless_pbs_refuses_it(
    hook: Hook, mode: str, job_id: str, more: dict[str, Any], is_refused: bool
) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    event = {"id": job_id, "Resource_List": {}, "Rerunable": 0, "job_o": None, **more}
    answer = hook.run("modifyjob", events=[event], jobs={"7.server": {"queue": "workq"}})
    assert answer["verdicts"] == (["pbsteer: the alteration has text that is not UTF-8"] if is_refused else [None])
    assert not any("failed" in line for line in answer["logged"])


@pytest.mark.parametrize("variables", ["BASH_FUNC_ml%%=() {  eval\n}", "A=" + "a" * 140_000])
@pytest.mark.parametrize("mode", MODES)
def test_what_a_jobs_variables_already_are_keeps_nobody_from_altering_the_job(
    hook: Hook, mode: str, variables: str
) -> None:
    """PBS gives the hook a copy of them at each alteration: of functions of a shell (``qsub -V``), which have several
    lines, and longer than they were submitted."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    one = {"select": "1:ncpus=1"}
    for more in ({"Account_Name": "chem"}, {"Priority": "5", "requestor": "root"}):
        event = {**alter(one, {"software": "y" * 300}, Variable_List=variables), **more}
        event["job_o"]["Variable_List"] = variables
        assert hook.run("modifyjob", events=[event])["verdicts"] == [None]


@pytest.mark.parametrize("mode", MODES)
def test_an_alteration_that_pbs_could_not_show_hides_no_line_break_of_variables(hook: Hook, mode: str) -> None:
    """There the variables are those of the request, also where the job has the same ones."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    jobs = {"8.server": {"queue": "workq", "Job_Owner": "alice@server", "Variable_List": "A=a\nb"}}
    event: dict[str, Any] = {"id": "8.server", "Resource_List": {}, "job_o": None, "Variable_List": "A=a\nb"}
    (verdict,) = hook.run("modifyjob", events=[event], jobs=jobs)["verdicts"]
    assert verdict == "pbsteer: its Variable_List has a line break"


@pytest.mark.parametrize("mode", MODES)
def test_an_alteration_that_pbs_could_not_show_hides_no_dependency(hook: Hook, mode: str) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    owners = {"7.server": "bob@server", "8.server": "alice@server"}
    jobs = {name: {"queue": "workq", "Job_Owner": owner} for name, owner in owners.items()}
    event: dict[str, Any] = {"id": "8.server", "Resource_List": {}, "job_o": None, "depend": "runone:7.server"}
    (verdict,) = hook.run("modifyjob", events=[event], jobs=jobs)["verdicts"]
    assert "which is not a job of alice's" in verdict


def test_a_job_about_to_start_unguarded_is_altered_by_managers_alone(hook: Hook) -> None:
    summary = {**summary_of("drive"), "planned": {"7.server": "digest"}, "unguarded": True, "planned_s": time.time()}
    hook.state.publish(SUMMARY, summary, shared=False)

    def altered(changes: dict[str, str], job_id: str = "7.server", state: int = 1, **more: Any) -> dict[str, Any]:
        event = alter({"select": "1:ncpus=1", "walltime": "01:00:00"}, changes, state, **more)
        event["job_o"]["id"] = job_id
        return event

    longer = {"walltime": "02:00:00"}
    events = [
        altered(longer),
        altered({}, project="other"),
        altered({}, group_list="chem"),
        altered({}, User_List="bob"),
        altered({}, Rerunable=False),
        altered({"licences": "900"}),
        altered(longer, state=2),
        altered(longer, "8.server"),
        altered(longer, state=4),
        altered(longer, requestor="olga"),
        altered({}),
    ]
    verdicts = hook.run("modifyjob", events=events)["verdicts"]
    assert [bool(verdict) for verdict in verdicts] == [True] * 7 + [False] * 4
    assert "about to start" in verdicts[0]
