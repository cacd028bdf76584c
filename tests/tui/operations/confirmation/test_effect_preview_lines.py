"""A preview as lines: how many runs end, with what they use and have run, before the jobs one by one."""

from __future__ import annotations

from policy import Ledger, Settings
from policy.explain.change_preview import Effect, Preview
from tests.tui.scripted_server import NOON_S, a_server_status, a_vnode, changed, running
from tui.operations.confirmation.effect_preview_lines import effect_lines
from tui.state.cluster_view import ClusterView, see
from tui.text.screen_line import plain


def cluster() -> ClusterView:
    began = {"stime": str(int(NOON_S - 1800))}
    jobs = {"7.hpc1": {**running("alice", 4, "v1"), **began}, "8.hpc1": {**running("bob", 2, "v1"), **began}}
    return see(changed(a_server_status(), vnodes={"v1": a_vnode(8, 6)}, jobs=jobs), Settings(), Ledger(), 0.1)


def first_line(*effects: Effect) -> str:
    seen = cluster().decided(lambda: 0.0)
    assert seen.decision is not None
    plan = seen.decision.plan
    return plain(effect_lines(Preview(plan, plan, effects, ()), seen)[0])


def test_what_is_preempted_is_summed_up_with_its_cores_and_its_work() -> None:
    victims = [Effect("preempted", job_id, "is preempted", "would be") for job_id in ("7.hpc1", "8.hpc1")]
    starts = Effect("starts", "9.hpc1", "starts", "would start")
    assert first_line(*victims, starts) == (
        "in the next pass: 2 preempted (6 cores, which ran 3.0 core-hours), 1 start"
    )


def test_a_few_starts_are_not_summed_up() -> None:
    assert first_line(Effect("starts", "9.hpc1", "starts", "would start")) == "in the next pass"
