"""P4, P5, arrays and hard limits on a real Torque server: where jobs really run, and how many of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tests.torque.cluster import TorqueCluster
from tests.torque.server.pass_on_torque import DRIVE, SAVES, Passes, wait_until_begun

QUOTAS = "[[queue]]\nname = 'batch'\nquotas = '[u:alice=8],[u:bob=8]'\n"
NODE = "nodes=1:ppn=8"
QUICK = "[schedule]\ninterval_s = 5\n"
_MIB = 1 << 10
_HOME = "/var/spool/torque/aux"


@contextlib.contextmanager
def host_shows(torque: TorqueCluster, host: str, *, memory_mib: int, load: float) -> Iterator[None]:
    """What the kernel shows on a host, and its MoM reports: so much of 16 GiB of memory is free, and this load."""
    files = {
        "meminfo": f"MemTotal: {16 << 20} kB\nMemFree: {memory_mib * _MIB} kB\nMemAvailable: {memory_mib * _MIB} kB\n"
        "Buffers: 0 kB\nCached: 0 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
        "loadavg": f"{load:.2f} {load:.2f} {load:.2f} 1/100 100\n",
    }
    for name, text in files.items():
        torque.run(["sh", "-c", f"cat >{_HOME}/{name}"], host=host, stdin=text).demand_success()
        torque.run(["mount", "--bind", f"{_HOME}/{name}", f"/proc/{name}"], host=host).demand_success()
    try:
        yield
    finally:
        for name in files:
            torque.run(["umount", f"/proc/{name}"], host=host).demand_success()


def hosts_of(torque: TorqueCluster, job_id: str) -> str:
    torque.wait_for_state(job_id, "R", 30)
    return torque.jobs()[job_id]["exec_host"]


def test_p2_a_job_of_a_higher_class_preempts_one_of_a_lower(torque: TorqueCluster, passes: Passes) -> None:
    passes.configure(
        DRIVE + "[[queue]]\nname = 'batch'\npriorities = '[u:alice=10]'\nquotas = '[u:alice=8],[u:bob=16]'\n"
    )
    passes.start()
    bobs = [torque.qsub("bob", NODE) for _ in range(2)]
    for job_id in bobs:
        torque.wait_for_state(job_id, "R")
    mine = torque.qsub("alice", NODE, script="sleep 3\n")
    torque.wait_for_state(mine, "R", 30)
    (victim,) = passes.all_of("requeued")
    torque.wait_for_state(victim, "R", 40)
    assert sorted(torque.jobs()[job_id]["start_count"] for job_id in bobs) == ["1", "2"]


def test_passes_publish_a_forecast_and_when_says_it(torque: TorqueCluster, passes: Passes) -> None:
    torque.run(["qsub", "-l", "nodes=2:ppn=8,walltime=00:20:00"], user="bob", stdin="sleep 600\n").demand_success()
    passes.configure(DRIVE + QUICK)
    passes.start()
    torque.wait_until(lambda: any(each["job_state"] == "R" for each in torque.jobs().values()), "bob's runs")
    waits = torque.qsub("alice", NODE)
    published = torque.server_home / "pbsteer" / "forecast.json"
    torque.wait_until(published.exists, "a forecast")
    output = torque.run(passes.command("when", waits)).demand_success().stdout
    assert "alice" in output
    assert torque.run(passes.command("when", waits, "--fresh")).demand_success().stdout


def test_p4_takes_the_node_of_which_most_is_left_by_what_its_mom_reports(torque: TorqueCluster, passes: Passes) -> None:
    """The first node has less memory free, the second more load; without a wish the first is taken."""
    first, second = torque.mom_names
    with host_shows(torque, "m1", memory_mib=1000, load=0.1), host_shows(torque, "m2", memory_mib=9000, load=50):

        def reported(name: str) -> bool:
            words = torque.run(["pbsnodes", name]).stdout
            return "physmem=16777216kb" in words and f"loadave={'0.10' if name == first else '50.00'}" in words

        torque.wait_until(lambda: reported(first) and reported(second), "the MoMs have reported", 120)
        passes.configure(DRIVE)
        passes.start()
        plain = torque.qsub("alice", "nodes=1:ppn=2")
        memory = torque.qsub("alice", "nodes=1:ppn=2", "-W", "x=pbsteer_rank:memory")
        compute = torque.qsub("alice", "nodes=1:ppn=2", "-W", "x=pbsteer_rank:compute")
        most = torque.qsub("alice", "nodes=1:ppn=2", "-W", "x=pbsteer_rank:memory;pbsteer_min_mem:8gb")
        too_much = torque.qsub("alice", "nodes=1:ppn=1", "-W", "x=pbsteer_rank:memory;pbsteer_min_mem:12gb")
        hosts = [hosts_of(torque, each).partition("/")[0] for each in (plain, memory, compute, most)]
        assert hosts == [first, second, first, second]
        torque.wait_until(lambda: "comment" in torque.jobs()[too_much], "a reason", 40)
        assert torque.state_of(too_much) == "Q"
        assert not passes.all_of("failures")


def test_p5_stripes_a_job_over_more_nodes_than_it_needs(torque: TorqueCluster, passes: Passes) -> None:
    first, second = torque.mom_names
    passes.configure(DRIVE)
    passes.start()
    packed = torque.qsub("alice", "procs=4")
    assert hosts_of(torque, packed) == f"{first}/0-3"
    striped = torque.qsub("alice", "procs=8", "-W", "x=pbsteer_layout:stripe;pbsteer_width:2")
    assert hosts_of(torque, striped) == f"{first}/4-7+{second}/0-3"
    assert not passes.all_of("failures")


def test_a_subjob_is_marked_asked_and_runs_again_and_its_array_stays_whole(
    torque: TorqueCluster, passes: Passes
) -> None:
    passes.configure(DRIVE + QUOTAS + "[checkpoint]\ngrace_s = 8\n")
    passes.start()
    script = f'[ -e "$HOME/saved.$PBS_ARRAYID" ] && exit 0\ntouch "$HOME/saved.$PBS_ARRAYID"\n{SAVES}'
    torque.run(["sh", "-c", "rm -f $HOME/saved.*"], user="bob").demand_success()
    array = torque.qsub("bob", NODE, "-t", "0-1", "-W", "x=pbsteer_save:signal", script=script)
    subjobs = [array.replace("[]", f"[{index}]") for index in range(2)]
    wait_until_begun(torque, "bob", subjobs)
    mine = torque.qsub("alice", NODE, script="sleep 3\n")
    torque.wait_for_state(mine, "R", 30)
    (asked,) = passes.all_of("asked")
    assert asked in subjobs
    jobs = torque.jobs()
    assert jobs[asked]["sched_hint"].startswith(f"pbsteer [{subjobs.index(asked)}] for={mine} how=signal")
    assert "why=" not in jobs[asked]["sched_hint"]
    (other,) = set(subjobs) - {asked}
    assert "sched_hint" not in jobs[other]
    assert (jobs[asked]["job_state"], jobs[other]["job_state"]) == ("Q", "R")
    torque.wait_for_state(asked, "C", 40)
    jobs = torque.jobs()
    assert (jobs[asked]["exit_status"], jobs[asked]["start_count"]) == ("0", "2")
    assert jobs[other]["start_count"] == "1"
    assert passes.all_of("requeued") == []


@pytest.mark.parametrize(
    ("qmgr", "settings", "runs"),
    [
        ("set queue batch max_user_run = 1", "", {"alice": 1, "bob": 1}),
        ("set queue batch max_running = 1", "", {"alice": 1, "bob": 0}),
        ("set server max_user_run = 2", "", {"alice": 2, "bob": 2}),
        ("", "[[queue]]\nname = 'batch'\nmax_run_res = '[u:alice=4]'\n", {"alice": 2, "bob": 3}),
        ("", "[cluster]\nmax_run_res = '[u:PBS_GENERIC=2]'\n", {"alice": 1, "bob": 1}),
    ],
)
def test_hard_limits_of_torque_and_of_the_settings_hold(
    torque: TorqueCluster, passes: Passes, qmgr: str, settings: str, runs: dict[str, int]
) -> None:
    jobs = {user: [torque.qsub(user, "nodes=1:ppn=2") for _ in range(3)] for user in runs}
    passes.configure(DRIVE + QUICK + settings)
    if qmgr:
        torque.qmgr(qmgr)
    try:
        passes.start()

        def running() -> dict[str, int]:
            return {user: sum(torque.state_of(job_id) == "R" for job_id in ids) for user, ids in jobs.items()}

        torque.wait_until(lambda: len(passes.journal()) >= 3, "three passes")
        assert running() == runs
        assert not passes.all_of("failures")
    finally:
        if qmgr:
            torque.qmgr(qmgr.replace("set ", "unset ").partition(" =")[0])
