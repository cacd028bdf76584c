"""The walltime that ``explain`` names where estimates are shrunk is the most that starts the job, on a real server."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from policy.model.pbs_units import parse_duration_s, show_walltime
from policy.settings.site_settings import BackfillSettings, CheckpointSettings
from tests.hooks.deploy_on_testbed import LATE_S, wait_for_pass
from tests.pbs.cluster import PbsCluster
from tests.pbs.modes.compare_placement_with_pbs_sched import driven

PBSTEER = str(Path(sys.executable).with_name("pbsteer"))


def test_a_longer_walltime_waits_and_one_below_the_most_starts(pbs: PbsCluster) -> None:
    """The command takes the settings that the hooks run with: there is no file of the host."""
    driven(
        pbs,
        backfill=BackfillSettings("checkpoint", shrink_factor=0.3, shrink_threshold_s=5),
        checkpoint=CheckpointSettings(saves=True),
    )
    pbs.wait_for_state(pbs.qsub("alice", select="2:ncpus=8", walltime="01:00:00", options=("-l", "place=scatter")), "R")
    head = pbs.qsub("bob", select="3:ncpus=8", options=("-l", "place=scatter"))
    wait_for_pass(pbs)
    assert pbs.job_state(head) == "Q"
    job = pbs.qsub("dave", select="1:ncpus=4", walltime="10:00:00")
    wait_for_pass(pbs)

    def most_s() -> int:
        output = " ".join(pbs.run([PBSTEER, "explain", job]).demand_success().stdout.split())
        said = re.search(r"a walltime of at most ([0-9:]+) would let it start now", output)
        assert said is not None, output
        return parse_duration_s(said[1])

    assert most_s() > 2 * 3600, "three times the hour that is left, and some"
    pbs.run(["qalter", "-l", f"walltime={show_walltime(most_s() + 120)}", job]).demand_success()
    wait_for_pass(pbs)
    assert pbs.job_state(job) == "Q"
    # What is left of the hour shrinks meanwhile, and the most by more than three times that.
    pbs.run(["qalter", "-l", f"walltime={show_walltime(most_s() - 1200)}", job]).demand_success()
    pbs.wait_for_state(job, "R", LATE_S)
