"""At the default interval a save before a promised start is asked for at its moment, and the head starts as soon as its
cores are free: by early passes, not by the due ones after these moments, which come up to an interval later."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from policy.settings.settings_of_server_and_passes import ServerSettings
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, Settings
from tests.hooks.deploy_on_testbed import deploy_and_drive, last_pass, state_of, wait_for_due_pass
from tests.pbs.cluster import PbsCluster

pytestmark = pytest.mark.slow

SETTINGS = Settings(
    backfill=BackfillSettings(kind="checkpoint", shrink_factor=0.2, shrink_threshold_s=30),
    checkpoint=CheckpointSettings(grace_s=30, cost_s=0),
    server=ServerSettings(mode="observe"),
)
INTERVAL_S = SETTINGS.schedule.interval_s
LEAST_S = 75
"""The shortest walltime of the run that the head waits for: the other one is started and outlives its estimate."""
ATTEMPTS = 3


def journal(pbs: PbsCluster) -> list[Mapping[str, Any]]:
    return sorted(state_of(pbs).read_journal(1000), key=lambda entry: float(entry["time_s"]))


def read_due_s(pbs: PbsCluster) -> float:
    """When the last due pass began."""
    wait_for_due_pass(pbs)
    return max(float(entry["time_s"]) for entry in journal(pbs) if not entry["early"])


def keep_a_promise(pbs: PbsCluster) -> tuple[float, Mapping[str, Any], Mapping[str, Any]]:
    """The promised time of a head, the pass that asked a backfilled run to save for it, and the one that started the
    head. The promise lies in the middle between two due passes, and so does the save, two intervals before it."""
    since_s = time.time()
    ends_s = read_due_s(pbs) + 1.5 * INTERVAL_S
    while ends_s < time.time() + LEAST_S:
        ends_s += INTERVAL_S
    length_s = int(ends_s - time.time())
    first = pbs.qsub("alice", ("/bin/sleep", str(length_s - 3)), select="2:ncpus=8", walltime=str(length_s))
    pbs.wait_for_state(first, "R")
    head = pbs.qsub("bob", ("/bin/sleep", "5"), select="3:ncpus=8", walltime="20")
    pbs.wait_until(lambda: [each["job"] for each in last_pass(pbs)["estimates"]] == [head], 120.0, "a promise")
    (estimate,) = last_pass(pbs)["estimates"]
    program = "trap 'sleep 10; exit 85' USR2\nfor n in $(seq 200); do sleep 1; done\n"
    cut = pbs.qsub("dave", program, select="1:ncpus=8", walltime="200", options=("-l", "pbsteer_save=signal"))
    pbs.wait_for_state(cut, "R")
    pbs.wait_for_state(head, "F", 240.0)
    entries = [entry for entry in journal(pbs) if float(entry["time_s"]) >= since_s]
    asking = next(entry for entry in entries if cut in entry["asked"])
    starting = next(entry for entry in entries if head in entry["started"])
    pbs.run(["qdel", cut])
    pbs.wait_until(lambda: pbs.job_state(cut) == "F", 120.0, "the cut job is gone")
    return float(estimate["promised_s"]), asking, starting


@pytest.mark.takes(120)
def test_the_save_is_asked_for_at_its_moment_and_the_head_starts_at_its_time(pbs: PbsCluster) -> None:
    """Only time changes before the save: no job comes or goes, so nothing else brings a pass."""
    deploy_and_drive(pbs, SETTINGS)
    seen = []
    for _ in range(ATTEMPTS):
        promised_s, asking, starting = keep_a_promise(pbs)
        assert float(asking["time_s"]) >= promised_s - SETTINGS.checkpoint.grace_s
        # Where the machine was busy with other things until the next due pass, that one asks.
        if asking["early"] and starting["early"]:
            return
        seen.append((promised_s, asking["time_s"], asking["early"], starting["time_s"], starting["early"]))
    raise AssertionError(f"due passes asked, or started the head, in all attempts: {seen}")
