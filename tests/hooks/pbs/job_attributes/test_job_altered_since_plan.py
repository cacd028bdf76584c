"""A start that a pass has planned, and a job that its owner alters before it starts."""

from __future__ import annotations

from typing import Any

import pytest

from hooks.act.start_jobs import digest_starts
from hooks.pbs.job_attributes.job_altered_since_plan import digest_of_plan
from hooks.store.event_hook_summary import SUMMARY
from policy.model.allocation import parse_exec_vnode
from policy.plan.plan_types import Start
from policy.settings.site_settings import Settings
from tests.hooks.run_bundled_hook import SUMMARY_DATA, Hook
from tests.hooks.sample_server_statuses import job, server_status, snapshot_of

READ_S = 1000.5
"""When the pass has read the job."""
TEXTS = {
    "queue": "workq",
    "project": "_pbs_project_default",
    "egroup": "chem",
    "Rerunable": "True",
    "Checkpoint": "u",
    "Resource_List.select": "1:ncpus=1",
    "Resource_List.place": "pack",
    "Resource_List.walltime": "10:00:00",
    "Resource_List.lic": "2",
    "Resource_List.nodect": "1",
}
AS_PLANNED: dict[str, Any] = {
    "queue": "workq",
    "project": "_pbs_project_default",
    "egroup": "chem",
    "Rerunable": 1,
    "Checkpoint": "u",
    "mtime": int(READ_S) + 1,
    "Resource_List": {"select": "1:ncpus=1", "place": "pack", "walltime": "36000", "lic": 2},
}
VNODES = {"v1": {"resources_available": {"ncpus": 8}, "resources_assigned": {"ncpus": 0}}}


def altered(**changes: Any) -> dict[str, Any]:
    """The job with other attributes, or with another request."""
    resources = {name: text for name, text in changes.items() if name in AS_PLANNED["Resource_List"]}
    others = {name: value for name, value in changes.items() if name not in resources}
    return {**AS_PLANNED, "Resource_List": {**AS_PLANNED["Resource_List"], **resources}, **others}


def judge(hook: Hook, at_start: dict[str, Any], in_server: dict[str, Any], requestor: str) -> str | None:
    """What the hook says to the start of the job, which other hooks may have changed since the server gave it."""
    data = {
        **SUMMARY_DATA,
        "starting": {"1.s": False},
        "planned": {"1.s": digest_of_plan(TEXTS, {})},
        "planned_s": READ_S,
    }
    hook.state.publish(SUMMARY, data, shared=False)
    event = {**at_start, "id": "1.s", "exec_vnode": "(v1:ncpus=1)", "requestor": requestor}
    verdict: str | None = hook.run("runjob", events=[event], vnodes=VNODES, jobs={"1.s": in_server})["verdicts"][0]
    return verdict


@pytest.mark.parametrize(
    "change",
    [
        {"Rerunable": 0},
        {"Checkpoint": "n"},
        {"select": "1:ncpus=1:mem=4gb"},
        {"place": "free"},
        {"walltime": "36001"},
        {"project": "p"},
        {"egroup": "bio"},
        {"lic": 3},
    ],
)
def test_a_start_planned_for_another_request_is_refused_and_the_schedulers_own_are_not(
    hook: Hook, change: dict[str, Any]
) -> None:
    now = altered(**change)
    assert "was altered after this start of it had been planned" in (judge(hook, now, now, "root") or "")
    assert judge(hook, now, now, "Scheduler") is None


def test_what_another_hook_makes_of_the_job_at_its_start_refuses_nothing(hook: Hook) -> None:
    assert judge(hook, altered(walltime="3600"), AS_PLANNED, "root") is None
    assert judge(hook, AS_PLANNED, AS_PLANNED, "root") is None


@pytest.mark.parametrize(("mtime", "is_refused"), [(999, False), (1000, True), (1001, True)])
def test_a_job_that_only_looks_different_starts(hook: Hook, mtime: int, is_refused: bool) -> None:
    now = altered(place="free", mtime=mtime)
    assert bool(judge(hook, now, now, "root")) == is_refused


def test_a_subjobs_start_is_judged_by_its_array_as_its_own_event_shows_little(hook: Hook) -> None:
    planned = {"planned": {"8[2].s": digest_of_plan(TEXTS, {})}, "planned_s": READ_S, "starting": {"8[2].s": False}}
    hook.state.publish(SUMMARY, {**SUMMARY_DATA, **planned}, shared=False)
    event = {"queue": "workq", "Resource_List": {}, "exec_vnode": "(v1:ncpus=1)", "requestor": "root", "id": "8[2].s"}

    def judge_beside(array: dict[str, Any]) -> str | None:
        verdict: str | None = hook.run("runjob", events=[event], vnodes=VNODES, jobs={"8[].s": array})["verdicts"][0]
        return verdict

    assert judge_beside(AS_PLANNED) is None
    assert "was altered after this start of it had been planned" in (judge_beside(altered(Rerunable=0)) or "")


def test_what_the_pass_itself_alters_before_the_start_counts_as_planned() -> None:
    texts = {**job(Resource_List__select="1:ncpus=1", Resource_List__max_walltime="02:00:00")}
    texts.pop("Resource_List.walltime", None)
    seen = server_status({"1.s": texts})
    start = Start("1.s", snapshot_of(seen, Settings()).jobs["1.s"], parse_exec_vnode("(v1:ncpus=1)"))
    with_walltime = digest_of_plan({**texts, "Resource_List.walltime": "7200"}, {})
    assert digest_starts([start], seen, {"workq"}) == {"1.s": with_walltime}
    assert digest_starts([start], seen, set()) == {}


def test_a_subjobs_start_is_noted_with_what_its_array_asks_for() -> None:
    texts = job(Resource_List__select="1:ncpus=1", array="True", array_indices_remaining="1-3")
    seen = server_status({"8[].s": texts})
    array = snapshot_of(seen, Settings()).jobs["8[].s"]
    start = Start("8[2].s", array, parse_exec_vnode("(v1:ncpus=1)"), subjob=2)
    assert digest_starts([start], seen, {"workq"}) == {"8[2].s": digest_of_plan(texts, {})}
