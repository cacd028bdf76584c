"""Priorities for PBS's scheduler: by class, above all for a beneficiary, and the users' own put back afterwards."""

from __future__ import annotations

from pathlib import Path

from hooks.act.job_priorities_for_pbs_sched import Advice, find_advice
from hooks.admission.submission.priority_below_beneficiaries import BENEFICIARY
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.store.original_priorities import Priorities, read_priorities, with_own_priorities, write_priorities
from hooks.store.state_files import PRIORITIES, State
from hooks.translate.snapshot import translate
from policy.cycle.engine import decide
from policy.model.ledger_between_passes import Ledger
from policy.settings.site_settings import OrderSettings, Settings
from tests.hooks.sample_server_statuses import job, queue, running, server_status, vnode

CLASSES = {
    "max_run_res_soft__ncpus": "[u:alice=4],[u:bob=4],[u:carol=4]",
    "max_run_res_soft__user_priority": "[u:alice=1],[u:bob=9]",
}
WORKQ = {"workq": queue("advise", **CLASSES)}
FULL = {"v1": vnode(8, 8), "v2": vnode(8, 8)}
USED = {"1.s": running(8, "v1", euser="dave"), "2.s": running(8, "v2", euser="dave")}
STAYING = {job_id: {**texts, "Rerunable": "False"} for job_id, texts in USED.items()}


def see(jobs: dict[str, dict[str, str]], queues: dict[str, dict[str, str]] | None = None) -> ServerStatus:
    return server_status({**USED, **jobs}, vnodes=FULL, queues=WORKQ if queues is None else queues)


def advise(
    seen: ServerStatus,
    memory: Priorities | None = None,
    queues: tuple[str, ...] = ("workq",),
    settings: Settings = Settings(),  # noqa: B008 - a frozen value
) -> Advice:
    """The advice of a pass over what the server shows."""
    translation = translate(with_own_priorities(seen, memory or {}), settings)
    plan = decide(translation.snapshot, Ledger(), settings)
    return find_advice(plan, translation, seen, memory or {}, queues, settings)


def carried_out(seen: ServerStatus, advice: Advice) -> ServerStatus:
    jobs = {name: dict(texts) for name, texts in seen.jobs.items()}
    for job_id, priority in advice.priorities.items():
        jobs[job_id]["Priority"] = str(priority)
    return ServerStatus.from_data({**seen.to_data(), "jobs": jobs})


WAITING = {
    "3.s": job(user="alice"),
    "4.s": job(user="bob"),
    "5.s": job(user="carol"),
    "6.s": job(user="alice", Priority="5"),
    "7.s": job(user="alice", Priority="-2"),
}


def test_priorities_follow_the_classes_and_within_a_class_the_users_where_these_order_all() -> None:
    settings = Settings(order=OrderSettings("all"))
    told = advise(see({**STAYING, **WAITING, "8.s": job(user="erin")}), settings=settings).priorities
    assert BENEFICIARY > told["4.s"] > told["6.s"] > told["3.s"] > told["5.s"] == told["8.s"]


def test_a_users_own_priority_moves_no_job_before_others() -> None:
    told = advise(see({**STAYING, **WAITING, "8.s": job(user="erin")})).priorities
    assert told["6.s"] == told["3.s"] > told["5.s"]


WITHOUT_CLASSES = {"workq": queue("advise", max_run_res_soft__ncpus="[u:alice=4],[u:bob=8],[u:carol=4]")}


def test_without_classes_a_users_own_priority_reaches_no_beneficiary_and_orders_nobody() -> None:
    """alice, over quota, has an older job with PBS's highest priority; bob's is the one for which others make room."""
    runs = {"1.s": running(8, "v1", euser="alice"), "2.s": running(8, "v2", euser="alice")}
    waiting = {
        "3.s": job(user="alice", Priority="1023"),
        "4.s": job(cores=8, user="bob"),
        "5.s": job(cores=8, user="carol", Priority="-1024"),
        "6.s": job(cores=8, user="dave", Resource_List__pbsteer_priority="7"),
    }
    seen = server_status({**runs, **waiting}, vnodes=FULL, queues=WITHOUT_CLASSES)
    advice = advise(seen)
    assert "4.s" in advice.above
    assert advice.priorities == {"4.s": BENEFICIARY, "3.s": 0, "5.s": 0, "6.s": 7}
    later = carried_out(seen, advice)
    assert (later.jobs["3.s"]["Priority"], dict(advise(later, advice.memory).priorities)) == ("0", {})
    back = carried_out(later, advise(later, advice.memory, queues=()))
    assert [back.jobs[name]["Priority"] for name in ("3.s", "5.s")] == ["1023", "-1024"]


def test_where_users_own_priorities_order_all_they_stay_below_beneficiaries() -> None:
    waiting = {"3.s": job(cores=8, user="carol", Priority="1023"), "5.s": job(cores=8, user="carol", Priority="-9")}
    seen = server_status({**STAYING, **waiting}, vnodes=FULL, queues=WITHOUT_CLASSES)
    assert advise(seen, settings=Settings(order=OrderSettings("all"))).priorities == {"3.s": BENEFICIARY - 1}


def test_a_job_for_which_others_are_preempted_stands_above_all() -> None:
    advice = advise(see(WAITING))
    assert advice.above == {job_id for job_id, level in advice.priorities.items() if level == BENEFICIARY}
    assert "4.s" in advice.above


def test_it_stays_above_until_it_runs() -> None:
    seen = see(WAITING)
    first = advise(seen)
    (only,) = ({"4.s"} & first.above,)
    later = carried_out(seen, first)
    free = ServerStatus.from_data({**later.to_data(), "vnodes": {"v1": vnode(), "v2": vnode()}})
    free = ServerStatus.from_data({**free.to_data(), "jobs": {k: v for k, v in later.jobs.items() if k not in USED}})
    assert only <= advise(free, first.memory).above


def test_nothing_is_written_that_is_there_already() -> None:
    seen = see({name: WAITING[name] for name in ("3.s", "5.s", "6.s")}, WORKQ)
    first = advise(seen)
    second = advise(carried_out(seen, first), first.memory)
    assert first.priorities
    assert (dict(second.priorities), second.memory.keys()) == ({}, first.memory.keys())


def test_what_the_user_gave_decides_and_is_put_back() -> None:
    seen = see(WAITING)
    first = advise(seen)
    later = carried_out(seen, first)
    assert {name: texts["Priority"] for name, texts in with_own_priorities(later, first.memory).jobs.items()} == {
        name: texts["Priority"] for name, texts in seen.jobs.items()
    }
    back = advise(later, first.memory, queues=())
    again = carried_out(later, back)
    assert {name: texts["Priority"] for name, texts in again.jobs.items()} == {
        name: texts["Priority"] for name, texts in seen.jobs.items()
    }
    assert advise(again, back.memory, queues=()).memory == {}


def test_a_user_who_changes_the_priority_is_heard() -> None:
    seen = see({"3.s": job(user="alice"), "5.s": job(user="carol")})
    first = advise(seen)
    later = carried_out(seen, first)
    jobs = {**later.jobs, "3.s": {**later.jobs["3.s"], "Priority": "77"}}
    altered = ServerStatus.from_data({**later.to_data(), "jobs": jobs})
    second = advise(altered, first.memory)
    assert second.memory["3.s"].own == 77


def test_a_pass_that_is_killed_between_disk_and_server_forgets_no_priority() -> None:
    """The memory says what was about to be set; some of it was not, and some of it comes with other values now."""
    seen = see({"3.s": job(user="alice", Priority="5"), "5.s": job(user="carol", Priority="-5")})
    first = advise(seen)
    half = carried_out(seen, first._replace(priorities=dict(list(first.priorities.items())[:1])))
    more = queue("advise", **{**CLASSES, "max_run_res_soft__user_priority": "[u:alice=1],[u:bob=9],[u:zoe=3]"})
    other = ServerStatus.from_data({**half.to_data(), "queues": {"workq": more}})
    second = advise(other, first.memory)
    for shown in (other, carried_out(other, second)):
        own = with_own_priorities(shown, second.memory).jobs
        assert (own["3.s"]["Priority"], own["5.s"]["Priority"]) == ("5", "-5")


def test_running_jobs_are_left_alone_and_their_own_priority_is_kept_in_mind() -> None:
    seen = see({**STAYING, "3.s": job(user="alice", Priority="5")})
    first = advise(seen)
    later = carried_out(seen, first)
    runs = {**later.jobs, "3.s": {**running(2, "v1"), "Priority": later.jobs["3.s"]["Priority"]}}
    second = advise(ServerStatus.from_data({**later.to_data(), "jobs": runs}), first.memory)
    assert (second.priorities, second.memory["3.s"].own) == ({}, 5)


def test_a_beneficiary_that_runs_has_its_users_priority_again_and_is_not_above_all_when_it_is_requeued() -> None:
    seen = see({**WAITING, "4.s": job(user="bob", Priority="5")})
    first = advise(seen)
    assert "4.s" in first.above
    later = carried_out(seen, first)
    runs = {**later.jobs, "4.s": {**running(2, "v1", euser="bob"), "Priority": str(BENEFICIARY)}}
    started = ServerStatus.from_data({**later.to_data(), "jobs": runs})
    second = advise(started, first.memory)
    assert second.priorities["4.s"] == 5
    priority = carried_out(started, second).jobs["4.s"]["Priority"]
    jobs = {**STAYING, "4.s": job(user="bob", Priority=priority)}
    assert "4.s" not in advise(ServerStatus.from_data({**later.to_data(), "jobs": jobs}), second.memory).above


def test_what_is_remembered_is_read_as_it_was_written(tmp_path: Path) -> None:
    state = State(tmp_path)
    memory = advise(see(WAITING)).memory
    write_priorities(state, memory)
    assert read_priorities(state) == memory
    for text in ("", "[]", '{"1.s": 5}', '{"1.s": ["x", [1]]}'):
        (tmp_path / PRIORITIES).write_text(text)
        assert read_priorities(state) == {}
