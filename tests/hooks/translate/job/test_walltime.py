"""No walltime or start time is later than calendars and the ledger can hold."""

from __future__ import annotations

from hooks.pbs.job_attributes.job_comment_format import show_moment
from hooks.translate.job.walltime import read_walltime_s
from policy.cycle.engine import decide
from policy.model.ledger_between_passes import Ledger
from policy.plan.plan_types import Plan
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import NOW_S, job, running, server_status, snapshot_of, vnode

_AGES = "999999999999999999:00:00"


def test_a_walltime_of_18_digits_counts_as_317_years() -> None:
    assert read_walltime_s(_AGES) == 1e10
    assert read_walltime_s("1:00:00") == 3600


def test_a_promise_after_such_a_job_is_read_back_and_has_a_date() -> None:
    endless = {**running(), "Resource_List.walltime": _AGES}
    seen = server_status({"1.server": endless, "2.server": job("Q", 8)}, {"v1": vnode(used=2)})
    plan: Plan = decide(snapshot_of(seen, Settings()), Ledger(), Settings())
    assert [at_s < 1e11 for at_s in plan.ledger.promises.values()] == [True]
    assert Ledger.from_data(plan.ledger.to_data()) == plan.ledger


def test_a_start_time_without_a_date_counts_as_a_far_future() -> None:
    seen = server_status({"1.server": job("W", Execution_Time="9" * 17)})
    waiting = snapshot_of(seen, Settings()).jobs["1.server"]
    assert waiting.not_before_s == 1e11
    assert show_moment(1e11, NOW_S) == "in a far future"
    assert show_moment(float("inf"), NOW_S) == "in a far future"
