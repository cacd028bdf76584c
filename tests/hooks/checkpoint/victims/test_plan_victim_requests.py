"""What is asked of victims: by which method, with what mark, how long they are waited for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from hooks.checkpoint.on_job_host.decide_requeue_at_job_end import RunOnServer, judge_end
from hooks.checkpoint.save_method.save_method_of_job import read_methods
from hooks.checkpoint.victims.plan_victim_requests import Asking, VictimRequest, find_silent, forget_hold, plan_asking
from hooks.pbs.job_attributes.job_comment_format import OWN_COMMENT
from hooks.pbs.job_attributes.victim_mark import MARK_KEY, Mark, read_marks, show_marks
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.snapshot import translate
from policy.plan.plan_types import Preempt
from policy.reasons.reason import Reason
from policy.settings.site_settings import CheckpointSettings, Settings
from tests.hooks.sample_server_statuses import NOW_S, job, queue, running, server_status, snapshot_of

AT_S = int(NOW_S)
START_S = 1795207100  # of `running`
SIGNAL = Settings(checkpoint=CheckpointSettings(method="signal", grace_s=60, cost_s=20))
CHECKPOINT = Settings(checkpoint=CheckpointSettings(method="checkpoint", grace_s=60, cost_s=20))
WAITING = {"9.s": job()}


def asked_mark(ago_s: int, **more: Any) -> dict[str, str]:
    mark = Mark("9.s", "signal", AT_S - ago_s, AT_S - ago_s + 60)._replace(**more)
    return {MARK_KEY: show_marks({None: mark})}


def ask(
    jobs: Mapping[str, Mapping[str, str]],
    settings: Settings = SIGNAL,
    *,
    again: bool = False,
    held: tuple[str, ...] = (),
    beneficiary: str = "9.s",
) -> Asking:
    """What is asked of all jobs that run."""
    seen = server_status({**WAITING, **jobs})
    return plan_asking(victims_of(seen, settings, again, beneficiary), seen, settings, methods_of(seen, settings), held)


def methods_of(seen: ServerStatus, settings: Settings) -> dict[str, str]:
    return read_methods(seen, settings, lambda _: None)


def victims_of(seen: ServerStatus, settings: Settings, again: bool, beneficiary: str) -> list[Preempt]:
    reason = Reason("cut-for-promise", (("beneficiary", beneficiary),))
    return [Preempt(run, beneficiary, reason, again) for run in snapshot_of(seen, settings).runs.values()]


def test_a_victim_that_is_being_staged_in_has_nothing_to_save() -> None:
    staged = {**running(), "substate": "15"}
    del staged["stime"]
    assert ask({"12.s": staged}).requests == (VictimRequest("12.s", "requeue", host="v1"),)


@pytest.mark.parametrize(
    ("substate", "ago_s", "how"), [("41", 90, "requeue"), ("60", 90, "requeue"), ("41", 30, "signal")]
)
def test_a_victim_whose_program_never_begins_is_asked_for_no_save(substate: str, ago_s: int, how: str) -> None:
    waits = running(substate=substate) | {"stime": str(AT_S - ago_s)}
    assert [request.how for request in ask({"1.s": waits}, SIGNAL).requests] == [how]


def test_a_deleted_victim_is_asked_only_where_its_program_may_never_have_begun() -> None:
    deleted = {"comment": "Job run at Sun Nov 29 at 18:39 on (v1:ncpus=2) and terminated"}
    for substate, ago_s, asked in (
        ("41", 90, True),
        ("42", 90, True),
        ("60", 90, True),
        ("41", 30, False),
        ("51", 90, False),
    ):
        texts = running(substate=substate) | {"stime": str(AT_S - ago_s)} | deleted
        asking = ask({"1.s": texts}, SIGNAL, held=("workq",))
        assert [request.how for request in asking.requests] == ["requeue"] * asked
        assert (asking.patient, asking.holds) == (() if asked else ("1.s",), {})


def request_to(job_id: str, how: str, signal: str = "", *, is_first: bool = True) -> VictimRequest:
    """What is asked of a run of `running`."""
    return VictimRequest(job_id, how, signal, START_S, "v1", is_first)


def mark_of(asking: Asking, job_id: str = "1.s", index: int | None = None) -> Mark:
    return read_marks({MARK_KEY: asking.marks[job_id]})[index]


@pytest.mark.parametrize(
    ("state", "asked"), [("free", True), ("job-busy", True), ("down", False), ("state-unknown,down", False)]
)
@pytest.mark.parametrize("settings", [Settings(), SIGNAL])
def test_nobody_is_asked_whose_host_is_not_there(state: str, asked: bool, settings: Settings) -> None:
    """A MoM that has not found its server again would tell the end of a job before what it knows of it."""
    seen = server_status({**WAITING, "1.s": running()})
    victims = victims_of(seen, settings, again=False, beneficiary="9.s")
    seen = replace(seen, vnodes={**seen.vnodes, "v1": {**seen.vnodes["v1"], "state": state}})
    asking = plan_asking(victims, seen, settings, methods_of(seen, settings))
    assert bool(asking.requests) is asked
    assert asking.patient == (() if asked else ("1.s",))


@pytest.mark.parametrize(("settings", "asked"), [(Settings(), True), (SIGNAL, False), (CHECKPOINT, False)])
def test_no_job_is_asked_to_save_whose_start_the_server_does_not_know(settings: Settings, asked: bool) -> None:
    """Each pass would ask it anew: no mark could be told to be of this run."""
    asking = ask({"1.s": {**running(substate="41"), "stime": ""}}, settings)
    assert [(request.how, request.start_s) for request in asking.requests] == ([("requeue", None)] if asked else [])
    assert asking.patient == (() if asked else ("1.s",))


@pytest.mark.parametrize(
    ("site", "wish", "checkpoint", "saves"),
    [
        ("requeue", "", "u", None),
        ("signal", "", "u", True),
        ("checkpoint", "", "u", True),
        ("signal", "", "n", False),
        ("signal", "requeue", "u", False),
        ("requeue", "signal", "u", True),
    ],
)
def test_the_policy_knows_whether_a_job_saves(site: str, wish: str, checkpoint: str, saves: bool | None) -> None:
    texts = job(Checkpoint=checkpoint) | ({"Resource_List.pbsteer_save": wish} if wish else {})
    settings = Settings(checkpoint=CheckpointSettings(method=site))
    assert snapshot_of(server_status({"1.s": texts}), settings).jobs["1.s"].saves is saves


def test_a_job_on_several_hosts_is_signalled_where_it_would_be_checkpointed() -> None:
    """PBS would restart its tasks one by one, and they would not find each other."""
    narrow, wide = running(), running(exec_vnode="(v1:ncpus=2)+(v2:ncpus=2)")
    assert [ask({"1.s": each}, CHECKPOINT).requests for each in (narrow, wide)] == [
        (request_to("1.s", "checkpoint"),),
        (request_to("1.s", "signal", "USR2"),),
    ]
    seen = server_status({"1.s": wide, **WAITING})
    one_host = {name: {**texts, "resources_available.host": "h1"} for name, texts in seen.vnodes.items()}
    seen = replace(seen, vnodes=one_host)
    victims = victims_of(seen, CHECKPOINT, again=False, beneficiary="9.s")
    asking = plan_asking(victims, seen, CHECKPOINT, methods_of(seen, CHECKPOINT))
    assert asking.requests == (request_to("1.s", "checkpoint")._replace(host="h1"),)


def test_an_array_cannot_be_checkpointed_so_it_does_not_save() -> None:
    wished = job("Q", array_indices_remaining="1-2") | {"Resource_List.pbsteer_save": "checkpoint"}
    plain = job("Q", array_indices_remaining="1-2")
    jobs = translate(server_status({"8[].s": wished, "7[].s": plain}), CHECKPOINT).snapshot.jobs
    assert (jobs["8[].s"].saves, jobs["7[].s"].saves) == (False, None)


@pytest.mark.parametrize("held", [(), ("workq",)])
def test_a_restarted_job_is_waited_for_until_it_can_be_checkpointed(held: tuple[str, ...]) -> None:
    restarted = running(substate="41") | {"stime": str(AT_S - 60)}
    assert ask({"1.s": restarted}, CHECKPOINT, held=held) == Asking({}, (), ("1.s",))


# A victim that is asked to save


@pytest.mark.parametrize(("settings", "how"), [(SIGNAL, ""), (CHECKPOINT, ""), (Settings(), "requeue")])
def test_none_is_asked_before_the_hook_that_judges_its_end_is_on_its_host(settings: Settings, how: str) -> None:
    seen, hosts = server_status({**WAITING, "1.s": running()}), list[str]()
    victims, methods = victims_of(seen, settings, again=False, beneficiary="9.s"), methods_of(seen, settings)

    def is_judged_on(host: str) -> bool:
        hosts.append(host)
        return False

    asking = plan_asking(victims, seen, settings, methods, is_judged_on=is_judged_on)
    if how:
        assert (asking.requests, hosts) == ((request_to("1.s", how),), []), "a requeue needs no hook"
    else:
        assert (asking, hosts) == (Asking({}, (), ("1.s",)), ["v1"])


def test_first_it_is_marked_and_asked() -> None:
    asking = ask({"1.s": running()})
    assert asking.requests == (request_to("1.s", "signal", "USR2"),)
    assert mark_of(asking) == Mark("9.s", "signal", AT_S, AT_S + 60, 0, AT_S - START_S - 20)


@pytest.mark.parametrize("ago_s", [0, 1, 59])
def test_then_it_has_its_time(ago_s: int) -> None:
    asking = ask({"1.s": running() | asked_mark(ago_s)}, again=True)
    assert asking == Asking({}, (), ("1.s",))


def test_then_it_is_requeued() -> None:
    asking = ask({"1.s": running() | asked_mark(60)}, again=True)
    assert asking == Asking({}, (request_to("1.s", "requeue", is_first=False),))


@pytest.mark.parametrize("held", [(), ("workq",)], ids=["drive", "advise"])
def test_one_that_is_requeued_by_force_has_no_more_saved_than_before(held: tuple[str, ...]) -> None:
    asking = ask({"1.s": running() | asked_mark(60, saved_s=200, then_s=700)}, again=True, held=held)
    assert asking.requests == (request_to("1.s", "requeue", is_first=False),)
    assert mark_of(asking)[4:6] == (200, 200)


def test_one_that_was_asked_in_an_earlier_run_is_asked_again_and_has_more_saved() -> None:
    before = Mark("7.s", "signal", START_S - 100, START_S - 40, saved_s=0, then_s=500)
    asking = ask({"1.s": running() | {MARK_KEY: show_marks({None: before})}}, again=True)
    assert asking.requests == (request_to("1.s", "signal", "USR2"),)
    assert mark_of(asking)[4:7] == (500, 500 + AT_S - START_S - 20, False)


def test_one_whose_preemption_was_given_up_is_asked_again_and_its_work_counted_once() -> None:
    jobs = {"1.s": running() | asked_mark(150, saved_s=500, then_s=530)}
    asking = ask(jobs, again=False)
    assert asking.requests == (request_to("1.s", "signal", "USR2"),)
    assert mark_of(asking)[4:7] == (500, 500 + AT_S - START_S - 20, False)


def test_a_mark_of_the_future_is_nobodys() -> None:
    """Where the clock was set back: else the victim would be waited for until that time comes again."""
    asking = ask({"1.s": running() | asked_mark(-5000)}, again=True)
    assert asking.requests == (request_to("1.s", "signal", "USR2"),)


def test_one_that_another_job_wants_now_keeps_its_time_and_goes_for_that() -> None:
    asking = ask({"1.s": running() | asked_mark(10), "7.s": job()}, beneficiary="7.s")
    assert (asking.requests, asking.patient) == ((), ("1.s",))
    assert mark_of(asking) == Mark("7.s", "signal", AT_S - 10, AT_S + 50)


def test_a_checkpoint_is_a_hold_so_it_is_noted_as_ours() -> None:
    asking = ask({"1.s": running()}, CHECKPOINT)
    assert asking.requests == (request_to("1.s", "checkpoint"),)
    assert mark_of(asking).held


def test_who_saves_nothing_is_requeued_without_a_mark() -> None:
    assert ask({"1.s": running()}, Settings()) == Asking({}, (request_to("1.s", "requeue"),))


@pytest.mark.parametrize(("wish", "site", "how"), [("", "requeue", "requeue"), ("signal", "requeue", "signal")])
def test_a_run_from_before_its_queue_named_a_method_is_requeued(wish: str, site: str, how: str) -> None:
    queues = {"workq": {**queue(), "resources_available.pbsteer_save": "signal"}}
    seen = server_status({**WAITING, "1.s": running() | {"Resource_List.pbsteer_save": wish}}, queues=queues)
    settings = Settings(checkpoint=CheckpointSettings(method=site))
    (request,) = plan_asking(
        victims_of(seen, settings, False, "9.s"), seen, settings, methods_of(seen, settings)
    ).requests
    assert request.how == how


def test_in_a_queue_that_holds_its_victims_they_are_held() -> None:
    asking = ask({"1.s": running() | {"Hold_Types": "u"}}, Settings(), held=("workq",))
    assert (asking.requests, asking.holds) == ((request_to("1.s", "requeue"),), {"1.s": "su"})
    assert mark_of(asking) == Mark("9.s", "requeue", AT_S, AT_S, held=True)


def test_one_that_was_asked_before_victims_were_held_is_marked_as_held_when_it_goes() -> None:
    asked = running() | asked_mark(60)
    asking = ask({"1.s": asked}, again=True, held=("workq",))
    assert (asking.requests, asking.holds) == ((request_to("1.s", "requeue", is_first=False),), {"1.s": "s"})
    assert mark_of(asking) == Mark("9.s", "signal", AT_S - 60, AT_S, held=True)


def test_a_mark_that_tells_of_the_hold_already_is_not_written_again() -> None:
    asked = running() | asked_mark(60, held=True) | {"Hold_Types": "s"}
    asking = ask({"1.s": asked}, again=True, held=("workq",))
    assert (asking.marks, asking.holds) == ({}, {})


def test_a_hold_that_somebody_took_off_is_set_again_with_the_mark_that_tells_of_it() -> None:
    mark = asked_mark(60, held=True)
    asking = ask({"1.s": running() | mark | {"Hold_Types": "u"}}, again=True, held=("workq",))
    assert (asking.marks, asking.holds) == ({"1.s": mark[MARK_KEY]}, {"1.s": "su"})


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("settings", [Settings(), SIGNAL, CHECKPOINT])
def test_nobody_is_held_without_a_mark_that_tells_of_it(settings: Settings, again: bool) -> None:
    jobs = {
        "1.s": running(),
        "2.s": running() | asked_mark(60),
        **array(mark=show_marks({2: Mark("9.s", "signal", 1)})),
    }
    asking = ask(jobs, settings, again=again, held=("workq",))
    assert asking.holds == {"1.s": "s", "2.s": "s", "8[].s": "s"}
    assert all(mark_of(asking, job_id).held for job_id in asking.holds)


def test_an_array_whose_subjob_was_asked_before_is_marked_as_held_when_that_goes() -> None:
    asking = ask(array(mark=show_marks({2: Mark("9.s", "signal", AT_S - 60, AT_S)})), again=True, held=("workq",))
    assert mark_of(asking, "8[].s").held
    assert mark_of(asking, "8[].s", 2) == Mark("9.s", "signal", AT_S - 60, AT_S)


# Subjobs, whose marks are on their array


def array(*, mark: str = "") -> dict[str, dict[str, str]]:
    whole = job("B", array_indices_remaining="5") | ({MARK_KEY: mark} if mark else {})
    return {"8[].s": whole, "8[2].s": running(), "8[3].s": running()}


def test_subjobs_are_marked_on_their_array_and_asked_each() -> None:
    asking = ask(array())
    assert {request.id for request in asking.requests} == {"8[2].s", "8[3].s"}
    assert set(read_marks({MARK_KEY: asking.marks["8[].s"]})) == {2, 3}
    assert mark_of(asking, "8[].s", 3) == Mark("9.s", "signal", AT_S, AT_S + 60)


def test_subjobs_that_were_asked_have_their_time_each() -> None:
    known: dict[int | None, Mark] = {
        2: Mark("9.s", "signal", AT_S - 60, AT_S),
        4: Mark("9.s", "signal", AT_S, AT_S + 60),
    }
    asking = ask(array(mark=show_marks(known)), again=True)
    assert set(asking.requests) == {
        request_to("8[2].s", "requeue", is_first=False), request_to("8[3].s", "signal", "USR2"),
    }  # fmt: skip
    assert set(read_marks({MARK_KEY: asking.marks["8[].s"]})) == {2, 3}


def test_an_array_is_held_as_a_whole() -> None:
    asking = ask(array(), held=("workq",))
    assert mark_of(asking, "8[].s").held
    assert asking.holds == {"8[].s": "s"}


# What is left of a mark


def test_what_was_saved_outlives_the_hold() -> None:
    texts = {MARK_KEY: show_marks({None: Mark("9.s", "signal", AT_S, AT_S + 60, 0, 700, held=True)})}
    assert read_marks({MARK_KEY: forget_hold(texts)}) == {None: Mark("", "signal", AT_S, AT_S + 60, 0, 700)}


def test_that_it_was_asked_outlives_the_hold_as_it_may_end_of_that_late() -> None:
    mark = Mark("9.s", "signal", AT_S, AT_S + 60)
    left = {MARK_KEY: forget_hold({MARK_KEY: show_marks({None: mark._replace(held=True)})})}
    assert read_marks(left) == {None: mark._replace(beneficiary="")}
    assert judge_end(85, 85, RunOnServer(AT_S - 1.0, read_marks(left)[None]), AT_S + 900.0, could_be=True).again


def test_a_mark_that_says_nothing_more_is_taken_off() -> None:
    assert forget_hold({MARK_KEY: show_marks({None: Mark("9.s", "requeue", AT_S, AT_S, held=True)})}) == ""


def test_the_plan_counts_what_is_saved() -> None:
    mark = show_marks({None: Mark("9.s", "signal", START_S - 100, START_S - 40, saved_s=10, then_s=250)})
    seen = snapshot_of(server_status({"1.s": job() | {MARK_KEY: mark}, "2.s": running() | {MARK_KEY: mark}}), SIGNAL)
    assert seen.jobs["1.s"].left_s == 600 - 250
    assert seen.runs["2.s"].end_s == START_S + 600 - 250


def test_a_run_that_outlasts_what_saved_work_has_left_of_it_is_planned_with_its_whole_walltime() -> None:
    mark = show_marks({None: Mark("9.s", "signal", START_S - 100, START_S - 40, then_s=590)})
    seen = snapshot_of(server_status({"2.s": running() | {MARK_KEY: mark}}), SIGNAL)
    assert START_S + 600 - 590 < NOW_S
    assert seen.runs["2.s"].end_s == START_S + 600


@pytest.mark.parametrize("changed", [{"Resource_List.pbsteer_save": "requeue"}, {"Checkpoint": "n"}])
def test_a_job_that_is_altered_to_save_nothing_counts_as_one_that_saved_nothing(changed: dict[str, str]) -> None:
    mark = show_marks({None: Mark("9.s", "signal", START_S - 100, START_S - 40, then_s=250)})
    seen = snapshot_of(server_status({"1.s": job() | {MARK_KEY: mark} | changed}), SIGNAL)
    assert seen.jobs["1.s"].left_s == 600


RUN_AT = "Job run at Sun Nov 22 at 07:00 on (v1:ncpus=2)"


@pytest.mark.parametrize("settings", [SIGNAL, CHECKPOINT, Settings()], ids=["signal", "checkpoint", "requeue"])
def test_who_ends_because_somebody_deleted_it_is_not_asked_for_anything(settings: Settings) -> None:
    """PBS would queue it again: a requeue beside its end counts for more than the deletion before it."""
    texts = running(comment=f"{RUN_AT} and terminated by alice@login")
    assert ask({"1.s": texts}, settings, held=("workq",)) == Asking({}, (), ("1.s",))


def test_a_victim_without_a_comment_gets_one_that_pbs_may_add_to() -> None:
    asking = ask({"1.s": running(), "2.s": running(comment=RUN_AT)})
    assert list(asking.comments) == ["1.s"]
    assert OWN_COMMENT.fullmatch(asking.comments["1.s"])
    assert ask({"1.s": running()}, Settings()).comments == {}


@pytest.mark.parametrize(
    ("texts", "released"),
    [
        ({**running(), **asked_mark(30)}, False),
        ({**running(comment=RUN_AT), **asked_mark(30)}, True),
    ],
    ids=["by somebody", "just now"],
)
def test_who_was_asked_and_is_released_gets_a_comment_again(texts: dict[str, str], released: bool) -> None:
    """PBS takes the comment away with the hold."""
    seen = server_status({"1.s": texts, **WAITING})
    silent = find_silent(seen, ["1.s"] if released else [])
    assert OWN_COMMENT.fullmatch(silent.pop("1.s"))
    assert silent == {}


@pytest.mark.parametrize(
    "texts",
    [
        {**running(comment=RUN_AT), **asked_mark(30)},
        running(),
        {**running(), **asked_mark(30, how="checkpoint")},
        {**running(stime=str(AT_S - 10)), **asked_mark(30)},
        {**job(), **asked_mark(30)},
    ],
    ids=["has one", "not asked", "checkpointed", "another run", "waits"],
)
def test_nobody_else_gets_one(texts: dict[str, str]) -> None:
    assert find_silent(server_status({"1.s": texts, **WAITING}), []) == {}


def test_a_managers_hold_does_not_become_ours() -> None:
    """It would be released once the beneficiary runs; and it keeps the requeued job as well as ours would."""
    held = running() | {"Hold_Types": "s"}
    asking = ask({"1.s": held}, Settings(), held=("workq",))
    assert (asking.requests, asking.holds, asking.marks) == ((request_to("1.s", "requeue"),), {}, {})
    asking = ask({"1.s": held}, SIGNAL, held=("workq",))
    assert (mark_of(asking).how, mark_of(asking).held, asking.holds) == ("signal", False, {})


def test_a_job_that_a_manager_holds_is_not_checkpointed() -> None:
    """PBS's checkpoint sets the same hold, which could not be told from the manager's afterwards."""
    held = {"1.s": running() | {"Hold_Types": "s"}}
    assert ask(held, CHECKPOINT, held=("workq",)) == ask(held, CHECKPOINT) == Asking({}, (), ("1.s",))
