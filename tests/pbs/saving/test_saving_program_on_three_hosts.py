"""A program on three hosts, as MPI programs are: its first process starts a rank on each other host, and tells them.

alice's quota is 0, bob's 24: bob's jobs take all of the three vnodes, twice, and alice's ranks count on each time

m1, m2, m3  alice's ranks count | bob | the ranks count on | bob | the ranks count on to the end
"""

from __future__ import annotations

import pytest

from policy.settings.ranking_and_stripe_settings import RankingSettings
from tests.hooks.deploy_on_testbed import deploy_and_drive, last_pass, quick_settings
from tests.pbs.cluster import PbsCluster
from tests.pbs.saving.checkpointing_test_jobs import (
    GOAL,
    SETTINGS,
    SIGNAL,
    STEP_S,
    log_of,
    passes_with,
    preempt_by,
    read_counts,
    submit,
    with_actions,
)

pytestmark = pytest.mark.slow

WIDE = "3:ncpus=8"
RANKS = range(3)


def ranks(tmrsh: str, every: int = 0) -> str:
    """The program: each rank counts; asked, the first has all save. Saved after each ``every`` steps too.

    Each process on the job's first host gets the signal (docs/saving.md). A ``pbs_tmrsh`` that did not ignore it would
    end, and the first rank would not wait for the others.
    """
    periodically = f"[ $((count % {every})) -eq 0 ] && save" if every else ":"
    return f"""#!/bin/bash
rank=${{1:-0}}
job=counting.${{PBS_JOBID%%.*}}
stop=$job.stop
log=$job${{1:+.$1}}.log
save() {{ echo $count > $job.$rank.saved.new && mv $job.$rank.saved.new $job.$rank.saved; }}
if [ $rank -eq 0 ]; then
    rm -f $stop
    trap 'touch $stop' USR2
    other=0
    for host in $(sort -u $PBS_NODEFILE | grep -v -F -x "$(head -1 $PBS_NODEFILE)"); do
        other=$((other + 1))
        (trap '' USR2; exec {tmrsh} $host $0 $other) &
    done
else
    trap : USR2
fi
count=$(cat $job.$rank.saved 2>/dev/null || echo 0)
while [ $count -lt {GOAL} ]; do
    sleep {STEP_S} || continue
    if [ -e $stop ]; then
        save
        wait
        exit 85
    fi
    count=$((count + 1))
    echo $count >> $log
    {periodically}
done
save
wait
"""


@pytest.fixture
def cluster(pbs: PbsCluster) -> PbsCluster:
    """Three vnodes that pbsteer drives, with quotas."""
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=0],[u:bob=24]'")
    deploy_and_drive(pbs, quick_settings(checkpoint=SETTINGS, ranking=RankingSettings(interval_s=5)))
    return pbs


def start(pbs: PbsCluster, *options: str, every: int = 0) -> str:
    return submit(pbs, ranks(f"{pbs.spec.pbs_exec}/bin/pbs_tmrsh", every), *options, select=WIDE)


def repeated_by_ranks(pbs: PbsCluster, job: str) -> list[int]:
    """How many steps each rank did in vain, once the job has ended well and all of their steps are done."""
    ended = pbs.wait_for_state(job, "F", 150.0)
    assert ended["Exit_status"] == 0
    first = log_of(pbs, job)
    counts = [read_counts(first), *(read_counts(first.with_suffix(f".{rank}.log")) for rank in RANKS[1:])]
    assert [sorted(set(each)) for each in counts] == [list(range(1, GOAL + 1))] * len(RANKS)
    assert last_pass(pbs)["failures"] == []
    return [len(each) - GOAL for each in counts]


def test_ranks_on_three_hosts_that_the_first_tells_to_save_repeat_nothing(cluster: PbsCluster) -> None:
    job = start(cluster, *SIGNAL)
    preempt_by(cluster, job, select=WIDE)
    preempt_by(cluster, job, select=WIDE)
    assert repeated_by_ranks(cluster, job) == [0, 0, 0]
    assert cluster.job(job)["run_count"] == 3
    assert len(passes_with(cluster, "asked", job)) == 2


def test_they_are_told_by_the_signal_where_a_checkpoint_was_wished(cluster: PbsCluster) -> None:
    """PBS would checkpoint each rank by itself, and the job would never end."""
    with with_actions(cluster, "save", "restart", moms=3):
        job = start(cluster, "-l", "pbsteer_save=checkpoint")
        preempt_by(cluster, job, select=WIDE)
        assert repeated_by_ranks(cluster, job) == [0, 0, 0]


def test_ranks_on_three_hosts_that_are_only_requeued_are_gone_when_the_job_runs_again(cluster: PbsCluster) -> None:
    job = start(cluster, every=5)
    preempt_by(cluster, job, select=WIDE)
    preempt_by(cluster, job, select=WIDE)
    assert all(0 <= each <= 10 for each in repeated_by_ranks(cluster, job))
    assert passes_with(cluster, "asked", job) == []
