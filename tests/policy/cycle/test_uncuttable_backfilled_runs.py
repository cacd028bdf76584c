"""Which backfilled runs a head's reserved time may count on; the golden stories tell when they are cut."""

from __future__ import annotations

import pytest

from policy import Ledger, Run, Settings
from policy.model.jobs_runs_vnodes_queues import Server
from policy.model.ledger_between_passes import Backfilled
from policy.settings.site_settings import BackfillSettings, CheckpointSettings
from tests.policy.clusters import cluster, job, plan_for, queue, run, started, vnode


@pytest.mark.parametrize(("repeat_s", "at_s"), [(60, 50), (49, 1000)])
def test_a_run_that_has_more_to_repeat_than_allowed_counts_with_its_full_estimate(repeat_s: float, at_s: float) -> None:
    """2 does not save, was tested to end at 50, and by its walltime ends at 1000."""
    settings = Settings(
        BackfillSettings("checkpoint", shrink_factor=0.05, shrink_threshold_s=0),
        checkpoint=CheckpointSettings(saves=False, repeat_at_most_s=repeat_s),
    )
    snapshot = cluster([vnode("v1")], [job("3", "bob", "4")], [run("2", "alice", "v1=1", 0, 1000)])
    ledger = Ledger(backfilled={"2": Backfilled(50.0, cuttable=True)})
    assert plan_for(snapshot, settings, ledger).ledger.promises == {"3": at_s}


SHRUNK = Settings(BackfillSettings("checkpoint"), checkpoint=CheckpointSettings(saves=True))


@pytest.mark.parametrize(("settings", "starts"), [(SHRUNK, ["4"]), (Settings(), [])], ids=["checkpoint", "easy"])
def test_a_job_that_says_it_saved_all_is_backfilled_only_where_it_can_be_cut(
    settings: Settings, starts: list[str]
) -> None:
    """4 asks for ten hours and has a minute left, if what it says is true; the head 3 is promised 3600.

    v1  2 ............| 3
    v2  4 - - - - - - | 3
    """
    liar = job("4", "mallory", "4", 36000, saved_s=35940)
    waiting, runs = [job("3", "bob", "8"), liar], [run("2", "alice", "v1=4", 0, 3600)]
    plan = plan_for(cluster([vnode("v1"), vnode("v2")], waiting, runs), settings)
    assert [start.id for start in plan.starts] == starts
    assert plan.ledger.promises == {"3": 3600}
    if not starts:
        return
    # It runs on as if it had saved nothing, and the head's time comes.
    still = Run("4", liar, 10.0, plan.starts[0].allocation, 36010.0)
    plan = plan_for(cluster([vnode("v1"), vnode("v2")], waiting[:1], [still], now_s=3600.0), settings, plan.ledger)
    assert [(each.run.id, each.beneficiary) for each in plan.preempts] == [("4", "3")]


@pytest.mark.parametrize(("estimate_s", "saved_s", "victims"), [(36000, 35940, []), (3000, 2940, ["2"])])
@pytest.mark.parametrize("settings", [SHRUNK, Settings()], ids=["checkpoint", "easy"])
def test_a_job_that_says_it_saved_all_preempts_only_if_its_walltime_ends_before_the_head_is_due(
    settings: Settings, estimate_s: float, saved_s: float, victims: list[str]
) -> None:
    """The head 3, the run 1 and job 4 are within their quotas; only run 2 is over its quota. So job 4, once it runs, is
    cut for no other job.

    v1  1 ............| 3
    v2  2 ............| 3
    """
    quotas = queue("[u:bob=8],[u:mallory=4],[u:dave=4],[u:carol=0]")
    waiting = [job("3", "bob", "8"), job("4", "mallory", "4", estimate_s, saved_s=saved_s)]
    runs = [run("1", "dave", "v1=4", 0, 3600), run("2", "carol", "v2=4", -4000, 7600)]
    plan = plan_for(cluster([vnode("v1"), vnode("v2")], waiting, runs, queues=[quotas]), settings)
    assert [each.id for each in plan.preempts] == victims
    assert plan.ledger.promises["3"] == 3600


def test_a_job_that_says_it_saved_all_takes_no_licence_that_the_head_needs() -> None:
    """There are cores for both when the head 3 is due, and one licence: a cut for its cores would not bring that."""
    licence = (("lic", 1),)
    waiting = [job("3", "bob", "8", job_wide=licence), job("4", "mallory", "4", 36000, saved_s=35940, job_wide=licence)]
    vnodes, runs = [vnode("v1"), vnode("v2"), vnode("v3")], [run("1", "dave", "v1=4 v2=4", 0, 3600)]
    plan = plan_for(cluster(vnodes, waiting, runs, server=Server(shared={"lic": 1})), SHRUNK)
    assert (started(plan), plan.ledger.promises) == ([], {"3": 3600})
