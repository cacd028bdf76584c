"""What can never run is judged by the vnodes of a real server as they are, not as the last pass saw them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from container import testbed as testbeds
from container.testbed_spec import TestbedSpec
from hooks.store.state_files import PASSES
from policy.settings.settings_of_server_and_passes import ScheduleSettings, ServerSettings, SubmissionSettings
from policy.settings.site_settings import Settings
from tests.hooks.deploy_on_testbed import REFUSING, deploy, last_pass, quick_settings, state_of, wait_for_pass
from tests.pbs.cluster import PbsCluster


def rare_passes(submission: SubmissionSettings) -> Settings:
    """So that what the last pass saw is long past."""
    schedule = ScheduleSettings(interval_s=300, budget_s=5, look_s=0)
    return Settings(schedule=schedule, server=ServerSettings(mode="advise"), submission=submission)


def test_a_vnode_that_was_enlarged_since_the_last_pass_counts_as_it_is(pbs: PbsCluster) -> None:
    deployment = deploy(pbs, quick_settings("advise"))
    deployment.apply(rare_passes(REFUSING), lambda _: None)
    too_large = pbs.wait_for_refusal("alice", select="1:ncpus=12")
    assert "the largest host open to that queue has ncpus=8" in too_large
    vnode = next(iter(pbs.pbsnodes()))
    pbs.qmgr(f"set node {vnode} resources_available.ncpus = 16")
    job_id = pbs.qsub("alice", select="1:ncpus=12", options=["-h"])
    still = pbs.wait_for_refusal("alice", select="1:ncpus=17")
    assert "the largest host open to that queue has ncpus=16" in still
    altered = pbs.run(["qalter", "-l", "select=1:ncpus=16", job_id], user="alice")
    assert altered.status == 0, altered.stderr
    pbs.qmgr(f"set node {vnode} resources_available.ncpus = 8")


@pytest.mark.parametrize(("mode", "choice"), [("advise", "drive"), ("drive", "never")])
def test_what_can_never_run_waits_where_pbs_is_in_charge_or_the_site_says_so(
    pbs: PbsCluster, mode: str, choice: str
) -> None:
    """In ``advise`` unless settings say otherwise; in ``drive`` at a site whose hosts come and go."""
    too_large = "1:ncpus=99:host=to-come"
    deployment = deploy(pbs, quick_settings(mode, submission=REFUSING))
    pbs.wait_for_refusal("alice", select=too_large)
    deployment.apply(quick_settings(mode, submission=SubmissionSettings(refuse_impossible=choice)), lambda _: None)
    job_id = pbs.qsub("alice", select=too_large, options=["-h"])
    altered = pbs.run(["qalter", "-l", "select=1:ncpus=98:host=to-come", job_id], user="alice")
    assert (altered.status, pbs.job_state(job_id)) == (0, "H"), altered.stderr


@pytest.fixture
def small(pbs_exec: str) -> Iterator[PbsCluster]:
    """One host, which the test takes out of the server."""
    name = f"pbst-{os.getpid()}-small"
    try:
        built, _ = testbeds.up(TestbedSpec(name=name, pbs_exec=pbs_exec, moms=1))
        yield PbsCluster(built)
    finally:
        testbeds.down(name)


def test_a_server_without_vnodes_has_passes_and_refuses_nothing(small: PbsCluster) -> None:
    deploy(small, quick_settings("advise"))
    (vnode,) = small.pbsnodes()
    small.qmgr(f"delete node {vnode}")
    for _ in range(2):
        wait_for_pass(small)
    assert last_pass(small)["idle_cores"] == 0
    assert state_of(small).read_published(PASSES).get("setbacks", 0) == 0
    job_id = small.qsub("alice", select="1:ncpus=1")
    wait_for_pass(small)
    assert small.job_state(job_id) == "Q"
    assert "Traceback" not in small.server_log()
