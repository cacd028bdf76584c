"""What reading and deciding take beside costly requests of one user that are in the server before pbsteer is: a hundred
jobs beyond the bounds of a request, a hundred at the bounds, an array of 200,000 subjobs."""

from __future__ import annotations

from policy.settings.settings_of_server_and_passes import SubmissionSettings
from tests.bench_pbs.benchmark_result import Figure, median
from tests.bench_pbs.testbed import open_site, without_hooks
from tests.hooks.deploy_on_testbed import deploy_and_drive, last_pass, quick_settings, wait_for_due_pass
from tests.pbs.cluster import PbsCluster

JOBS = 100
_PASSES = 5
_KINDS = SubmissionSettings().select_kinds
_BEYOND = "+".join(f"1:ncpus=0:mem={kib % 997 + 1}kb" for kib in range(5000)) + "+1:ncpus=8"
_AT = "+".join(f"1:ncpus=0:mem={kib + 1}kb" for kib in range(_KINDS - 1)) + "+1:ncpus=8"


def measure() -> list[Figure]:
    """Medians of a few passes each."""
    figures: list[Figure] = []
    with open_site() as pbs:
        for what, select in (("beyond the bounds", _BEYOND), ("at the bounds", _AT)):
            with without_hooks(pbs):
                pbs.qmgr("set server scheduling = False")
                for _ in range(JOBS):
                    pbs.qsub("alice", select=select)
                read_s, decide_s = _time(pbs)
                figures.append(Figure(f"{JOBS} jobs {what}: reading", read_s, "s"))
                figures.append(Figure(f"{JOBS} jobs {what}: deciding", decide_s, "s", 1.0))
        with without_hooks(pbs):
            pbs.qmgr("set server scheduling = False", "set server max_array_size = 200000")
            pbs.qsub("alice", options=["-J", "0-199999%1"], select="1:ncpus=8")
            read_s, decide_s = _time(pbs)
            figures.append(Figure("an array of 200,000 subjobs: reading and deciding", read_s + decide_s, "s", 2.0))
    return figures


def _time(pbs: PbsCluster) -> tuple[float, float]:
    """Seconds of reading and of deciding."""
    deploy_and_drive(pbs, quick_settings())
    read_s, decide_s = [], []
    for _ in range(_PASSES):
        wait_for_due_pass(pbs)
        seconds = last_pass(pbs)["seconds"]
        read_s.append(seconds["read_s"])
        decide_s.append(seconds["decide_s"])
    return median(read_s), median(decide_s)
