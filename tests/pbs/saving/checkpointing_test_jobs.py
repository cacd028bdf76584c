"""Programs that count and save, how they are preempted on a real server, and how much of it they did in vain."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hooks.deploy.install_mom_scripts_run_as_root import read_script
from policy.settings.site_settings import CheckpointSettings
from tests.hooks.deploy_on_testbed import last_pass, state_of
from tests.pbs.cluster import PbsCluster

GRACE_S = 8
SETTINGS = CheckpointSettings(grace_s=GRACE_S, cost_s=0)
GOAL = 60
STEP_S = 0.3
SIGNAL = ("-l", "pbsteer_save=signal")


def counting(at_signal: str, every: int = 0, goal: int | None = None) -> str:
    """A program that counts, saves after each ``every`` steps, and does ``at_signal`` when it is asked to save.

    It counts to ``goal``; without one until it is told to end (:func:`tell_to_end`), however long the test has to wait.
    """
    more = '[ ! -e "counting.${PBS_JOBID%%.*}.end" ]' if goal is None else f"[ $count -lt {goal} ]"
    periodically = f"[ $((count % {every})) -eq 0 ] && save" if every else ":"
    return f"""#!/bin/bash
saved=counting.${{PBS_JOBID%%.*}}.saved
log=counting.${{PBS_JOBID%%.*}}.log
save() {{ echo $count > $saved.new && mv $saved.new $saved; }}
trap '{at_signal}' USR2
count=$(cat $saved 2>/dev/null || echo 0)
while {more}; do
    sleep {STEP_S} || continue
    count=$((count + 1))
    echo $count >> $log
    {periodically}
done
exit 0
"""


@contextmanager
def with_actions(cluster: PbsCluster, abort: str, restart: str, *more: str, moms: int = 1) -> Iterator[None]:
    """The checkpoint script in the configuration of the first MoMs, as docs/saving.md says, and out of it again."""
    before: dict[Path, str] = {}
    for host in cluster.spec.mom_hosts[:moms]:
        home = cluster.testbed.pbs_home(host)
        config, script = home / "mom_priv" / "config", home / "checkpoint.py"
        script.write_bytes(read_script("checkpoint.py"))
        before[config] = config.read_text(encoding="utf-8")
        run = f"{cluster.spec.pbs_exec}/bin/pbs_python -I {script}"
        lines = (
            " ".join((f"$action checkpoint_abort 40 !{run} {abort} %jobid %sid %taskid %path", *more)),
            " ".join((f"$action restart 40 !{run} {restart} %jobid %sid %taskid %path", *more)),
        )
        config.write_text("\n".join([before[config], *lines, ""]), encoding="utf-8")
    reread(cluster, moms)
    try:
        yield
    finally:
        for config, text in before.items():
            config.write_text(text, encoding="utf-8")
            (config.parents[1] / "checkpoint.py").unlink()
        reread(cluster, moms)


def reread(pbs: PbsCluster, moms: int) -> None:
    for mom in pbs.mom_names[:moms]:
        pbs.run(["pkill", "-HUP", "-x", "pbs_mom"], host=mom).demand_success()
    time.sleep(1)


def submit(pbs: PbsCluster, program: str, *options: str, select: str = "1:ncpus=8", walltime: str = "00:10:00") -> str:
    """Submit a program of alice's that is the job's own first process, so that no login shell dies of the signal."""
    path = Path(pbs.testbed.home("alice")) / "counting"
    path.write_text(program, encoding="utf-8")
    path.chmod(0o755)
    return pbs.qsub("alice", (str(path),), select=select, walltime=walltime, options=options)


def preempt_by(pbs: PbsCluster, victim: str, select: str = "1:ncpus=8") -> None:
    """Let the victim count a little, then have a job of bob's take its cores, and see it run again."""
    runs = pbs.wait_for_state(victim, "R")["run_count"]
    wait_until_it_counts(pbs, victim)
    bobs = pbs.qsub("bob", ("/bin/sleep", "3"), select=select)
    pbs.wait_for_state(bobs, "F")
    pbs.wait_until(lambda: has_run(pbs, victim, runs + 1), 120.0, f"{victim} runs again")


def save_for(pbs: PbsCluster, victim: str) -> str:
    """Let the victim count a little, and have PBS checkpoint it for a job of bob's that runs until it is deleted. The
    victim's hold is over then, after what may be a moment: it waits in the queue for its cores."""
    before = len(passes_with(pbs, "released", victim))
    wait_until_it_counts(pbs, victim)
    bobs = pbs.qsub("bob", ("/bin/sleep", "3600"), select="1:ncpus=8", walltime="01:00:00")
    pbs.wait_until(
        lambda: len(passes_with(pbs, "released", victim)) > before, 240.0, f"{victim} is saved and {bobs} runs"
    )
    assert pbs.job_state(bobs) == "R"
    assert pbs.job_state(victim) == "Q"
    return bobs


def wait_until_it_counts(pbs: PbsCluster, job: str) -> None:
    log = log_of(pbs, job)
    counted = len(read_counts(log))
    pbs.wait_until(lambda: len(read_counts(log)) >= counted + 7, 120.0, "the program counts")


def has_run(pbs: PbsCluster, job: str, times: int) -> bool:
    found = pbs.job(job)
    return bool(found["job_state"] in "RF" and found["run_count"] >= times)


def log_of(pbs: PbsCluster, job: str) -> Path:
    return Path(pbs.testbed.home("alice")) / f"counting.{job.partition('.')[0]}.log"


def read_counts(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def passes_with(pbs: PbsCluster, what: str, job: str) -> list[float]:
    return [float(entry["time_s"]) for entry in state_of(pbs).read_journal(1000) if job in entry[what]]


def tell_to_end(pbs: PbsCluster, job: str) -> None:
    """Let a program without a goal count beyond all that it has done so far, and end."""
    log = log_of(pbs, job)
    done = max(read_counts(log), default=0)
    pbs.wait_until(lambda: max(read_counts(log), default=0) >= done + 7, 120.0, "the program counts on")
    log.with_suffix(".end").touch()


def repeated(pbs: PbsCluster, job: str, goal: int | None = None, exit_status: int = 0) -> int:
    """How many steps were done in vain, once the job has ended with this exit status and all of its steps done. One
    without a goal is told to end."""
    if goal is None:
        tell_to_end(pbs, job)
    ended = pbs.wait_for_state(job, "F", 150.0)
    assert ended["Exit_status"] == exit_status
    counts = read_counts(log_of(pbs, job))
    goal = goal or counts[-1]
    assert sorted(set(counts)) == list(range(1, goal + 1))
    assert counts[-1] == goal
    assert last_pass(pbs)["failures"] == []
    return len(counts) - goal
