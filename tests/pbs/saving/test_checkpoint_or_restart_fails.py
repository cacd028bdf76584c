"""What goes wrong around PBS's own checkpoint on a real server: each program ends with the right count all the same.

one vnode's 8 cores are all there is; alice's quota is 0, bob's 8
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from container.run_program import Finished
from policy.settings.ranking_and_stripe_settings import RankingSettings
from tests.hooks.deploy_on_testbed import deploy_and_drive, quick_settings
from tests.pbs.cluster import PbsCluster
from tests.pbs.saving.checkpointing_test_jobs import (
    SETTINGS,
    counting,
    repeated,
    reread,
    save_for,
    submit,
    wait_until_it_counts,
    with_actions,
)

pytestmark = pytest.mark.slow

CHECKPOINT = ("-l", "pbsteer_save=checkpoint")
HANGS = "import time\ntime.sleep(600)\n"


@pytest.fixture
def cluster(pbs: PbsCluster) -> Iterator[PbsCluster]:
    """One vnode that pbsteer drives, with quotas, and the checkpoint script in its MoM's configuration."""
    for vnode in pbs.mom_names[1:]:
        pbs.run(["pbsnodes", "-o", vnode]).demand_success()
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=0],[u:bob=8]'")
    deploy_and_drive(pbs, quick_settings(checkpoint=SETTINGS, ranking=RankingSettings(interval_s=5)))
    with with_actions(pbs, "save", "restart"):
        yield pbs


def home_of_mom(pbs: PbsCluster) -> Path:
    return pbs.testbed.pbs_home(pbs.spec.mom_hosts[0])


def save_one(pbs: PbsCluster) -> tuple[str, str]:
    """A job that PBS has saved, and the one of bob's that runs instead until it is deleted."""
    job = submit(pbs, counting("save; exit 0"), *CHECKPOINT)
    return job, save_for(pbs, job)


def count_processes(pbs: PbsCluster) -> int:
    done: Finished = pbs.run(["pgrep", "-c", "-f", "/counting$"], host=pbs.mom_names[0])
    return int(done.stdout)


def notes(pbs: PbsCluster) -> list[Path]:
    return list((home_of_mom(pbs) / "mom_priv").glob("pbsteer-saved-*"))


def test_a_job_whose_restart_script_is_gone_is_queued_again(cluster: PbsCluster) -> None:
    job, bobs = save_one(cluster)
    (home_of_mom(cluster) / "checkpoint.py").rename(home_of_mom(cluster) / "aside.py")
    try:
        cluster.run(["qdel", bobs]).demand_success()
        assert repeated(cluster, job) == 0
        assert "could not be started again" in cluster.mom_log()
    finally:
        (home_of_mom(cluster) / "aside.py").rename(home_of_mom(cluster) / "checkpoint.py")


def test_a_job_whose_restart_script_hangs_until_its_mom_ends_it_is_queued_again(cluster: PbsCluster) -> None:
    job, bobs = save_one(cluster)
    config, script = home_of_mom(cluster) / "mom_priv" / "config", home_of_mom(cluster) / "checkpoint.py"
    config.write_text(config.read_text().replace("$action restart 40", "$action restart 4"))
    reread(cluster, 1)
    script.write_text(HANGS, encoding="utf-8")
    cluster.run(["qdel", bobs]).demand_success()
    assert repeated(cluster, job) == 0


def test_a_job_that_is_deleted_while_its_restart_script_hangs_is_gone(cluster: PbsCluster) -> None:
    job, bobs = save_one(cluster)
    config, script = home_of_mom(cluster) / "mom_priv" / "config", home_of_mom(cluster) / "checkpoint.py"
    config.write_text(config.read_text().replace("$action restart 40", "$action restart 20"))
    reread(cluster, 1)
    begun = home_of_mom(cluster) / "begun"
    script.write_text(f"open({str(begun)!r}, 'w')\n{HANGS}", encoding="utf-8")
    cluster.run(["qdel", bobs]).demand_success()
    cluster.wait_until(begun.exists, 120.0, "the restart hangs")
    cluster.run(["qdel", job], user="alice").demand_success()
    cluster.wait_for_state(job, "F")
    assert cluster.job(job)["run_count"] == 1
    assert not notes(cluster)


def test_what_is_noted_of_a_job_that_is_deleted_while_it_is_held_goes(cluster: PbsCluster) -> None:
    job, _ = save_one(cluster)
    cluster.run(["qhold", job], user="alice").demand_success()
    assert cluster.job_state(job) == "H"
    assert [path.name.rpartition(".")[0] for path in notes(cluster)] == [f"pbsteer-saved-{job}"]
    cluster.run(["qdel", job], user="alice").demand_success()
    cluster.wait_until(lambda: not notes(cluster), 120.0, "the note is gone")


def test_a_job_is_restarted_where_its_host_keeps_checkpoints_elsewhere(cluster: PbsCluster) -> None:
    elsewhere = cluster.testbed.folder / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    config = home_of_mom(cluster) / "mom_priv" / "config"
    config.write_text(f"{config.read_text()}$checkpoint_path {elsewhere}\n")
    reread(cluster, 1)
    job, bobs = save_one(cluster)
    assert (elsewhere / f"{job}.CK" / "00000001").is_file()
    cluster.run(["qdel", bobs]).demand_success()
    cluster.wait_for_state(job, "R")
    assert repeated(cluster, job) == 0
    assert cluster.job(job)["run_count"] == 1
    assert count_processes(cluster) == 0
    assert not notes(cluster)


@pytest.mark.parametrize("script", ["import sys\nsys.exit(2)\n", "", HANGS])
def test_a_job_that_cannot_be_saved_repeats_what_came_after_its_own_last_save(cluster: PbsCluster, script: str) -> None:
    """The script fails, says that it saved though it did nothing, or hangs until the MoM ends it."""
    config = home_of_mom(cluster) / "mom_priv" / "config"
    config.write_text(config.read_text().replace("$action checkpoint_abort 40", "$action checkpoint_abort 4"))
    reread(cluster, 1)
    job = submit(cluster, counting("save; exit 0", every=5), *CHECKPOINT)
    wait_until_it_counts(cluster, job)
    (home_of_mom(cluster) / "checkpoint.py").write_text(script, encoding="utf-8")
    cluster.qsub("bob", ("/bin/sleep", "3"), select="1:ncpus=8")
    cluster.wait_until(lambda: cluster.job(job)["run_count"] > 1, 120.0, f"{job} runs again")
    assert 0 <= repeated(cluster, job) <= 5


def test_a_job_that_did_not_save_in_time_is_not_restarted_in_the_middle_of_its_requeue(cluster: PbsCluster) -> None:
    script = home_of_mom(cluster) / "checkpoint.py"
    script.write_text(script.read_text().replace("WAIT_S = 25.0", "WAIT_S = 2.0"))
    restarts = cluster.mom_log().count("restart script")
    program = counting("' USR2; trap '' USR2; trap ':", every=1).replace("log=", "echo begin >> begun\nlog=")
    begun = Path(cluster.testbed.home("alice")) / "begun"
    begun.unlink(missing_ok=True)
    job = submit(cluster, program, *CHECKPOINT)
    wait_until_it_counts(cluster, job)
    cluster.qsub("bob", ("/bin/sleep", "3"), select="1:ncpus=8")
    cluster.wait_until(lambda: cluster.job(job)["run_count"] > 1, 120.0, f"{job} runs again")
    assert repeated(cluster, job) >= 0
    assert cluster.mom_log().count("restart script") == restarts
    assert begun.read_text().split() == ["begin", "begin"]
    assert not notes(cluster)
