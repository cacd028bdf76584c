"""The demo cluster: it says what it is, shows soft quotas at once, and the real hooks decide on it."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks.pbs.client.pbs_ifl_client import Connection
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy import Ledger, Settings
from policy.model.allocation import parse_exec_vnode
from policy.model.limit_attributes import parse_limits
from sim.demo.demo_cluster_with_hooks import BEGIN_S, DemoCluster
from sim.demo.generated_submissions import Load
from sim.demo.site_setup_and_warm_up import Crowd, cores_of, furnish, warm_up
from sim.hookenv.pbs_ifl_module import make_pbs_ifl
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.objects.errors import PbsError
from sim.pbs_server.requests.qmgr import run_line
from sim.pbs_server.scheduler import Scheduler
from tests.hooks.sample_server_statuses import problems_of, snapshot_of


@pytest.fixture
def demo() -> Iterator[DemoCluster]:
    cluster = DemoCluster(vnodes=32)
    yield cluster
    cluster.close()


def use_by_user(server_status: ServerStatus, queue: str) -> Counter[str]:
    """Cores of running jobs, by user."""
    cores: Counter[str] = Counter()
    for texts in server_status.jobs.values():
        if texts["queue"] == queue and "exec_vnode" in texts:
            cores[texts["euser"]] += parse_exec_vnode(texts["exec_vnode"]).total("ncpus")
    return cores


def quotas(server_status: ServerStatus, queue: str) -> dict[str, int]:
    limits = parse_limits(server_status.queues[queue]["max_run_res_soft.ncpus"], queue)
    return {name: limit for (kind, name), limit in limits.entries.items() if kind == "u"}


def test_it_says_that_it_is_simulated(demo: DemoCluster) -> None:
    assert demo.server_status().server["name"] == demo.name == "demo"
    assert "simulated" in demo.run(["qmgr", "-c", "list server comment"]).text


def test_it_begins_with_all_that_an_administrator_meets(demo: DemoCluster) -> None:
    server_status = demo.server_status()
    states = Counter(texts["job_state"] for texts in server_status.jobs.values())
    assert {"R", "Q", "B"} <= states.keys()
    assert any("Resource_List.walltime" not in texts for texts in server_status.jobs.values())
    vnodes = Counter(texts["state"] for texts in server_status.vnodes.values())
    assert vnodes["offline"] + vnodes["offline,job-busy"] == 1
    assert vnodes["down"] + vnodes["down,job-busy"] == 1
    assert {texts["resources_available.pbsteer_mode"] for texts in server_status.queues.values()} == {"drive"}


def test_somebody_is_over_quota_and_somebody_within_waits(demo: DemoCluster) -> None:
    server_status = demo.server_status()
    limits, use = quotas(server_status, "workq"), use_by_user(server_status, "workq")
    assert any(cores > limits[user] for user, cores in use.items())
    waiting = {
        texts["euser"]
        for texts in server_status.jobs.values()
        if (texts["job_state"], texts["queue"]) == ("Q", "workq")
    }
    assert any(use[user] < limits[user] for user in waiting)


def test_no_vnode_is_given_more_than_it_has(demo: DemoCluster) -> None:
    for _ in range(5):
        demo.step()
        for name, texts in demo.server_status().vnodes.items():
            for resource in ("ncpus", "ngpus"):
                assigned = int(texts.get(f"resources_assigned.{resource}", 0))
                assert assigned <= int(texts.get(f"resources_available.{resource}", 0)), name


def test_a_picture_reads_without_problems(demo: DemoCluster) -> None:
    server_status = demo.server_status()
    assert problems_of(server_status, Settings()) == ()
    snapshot = snapshot_of(server_status, Settings())
    assert len(snapshot.vnodes) == 32
    assert snapshot.runs


def test_a_picture_is_what_the_reader_would_read_from_the_server(demo: DemoCluster) -> None:
    for _ in range(3):
        with Connection(make_pbs_ifl(demo.server)) as connection:
            read = connection.read_server_status(demo.now_s)
        assert demo.server_status().to_data() == read.to_data()
        demo.step()


def test_a_picture_stays_as_it_was(demo: DemoCluster) -> None:
    server_status = demo.server_status()
    before = server_status.to_data()
    for _ in range(3):
        demo.step()
    assert server_status.to_data() == before


def test_a_step_is_one_pass_of_the_real_hook(demo: DemoCluster) -> None:
    for number in (1, 2, 3):
        demo.step()
        assert len(demo.journal()) == demo.passes == number
    entry = demo.journal(1)[0]
    assert entry["time_s"] == demo.now_s
    assert entry["acted"] == ["gpu", "workq"]
    assert not [line for line in demo.log() if "Traceback" in line]


def test_the_first_passes_start_or_preempt(demo: DemoCluster) -> None:
    for _ in range(4):
        demo.step()
    assert any(entry["started"] or entry["requeued"] for entry in demo.journal())
    assert not [failure for entry in demo.journal() for failure in entry["failures"]]


def test_a_calm_demo_opens_on_a_quiet_morning() -> None:
    cluster = DemoCluster(calm=True)
    preempted = 0
    for _ in range(20):
        cluster.step()
        preempted += len(cluster.journal(1)[0]["preempts"])
    server_status = cluster.server_status()
    cluster.close()
    assert time.strftime("%a %H", time.gmtime(server_status.time_s)) == "Mon 09"
    assert preempted <= 3, "an administrator sees it at work, not in a storm"
    limits, use = quotas(server_status, "workq"), use_by_user(server_status, "workq")
    assert any(cores > limits[user] for user, cores in use.items()), "the idle cores are used beyond the quotas"


def test_a_priority_preempts_the_base_class_where_somebody_has_one() -> None:
    cluster = DemoCluster()
    for _ in range(60):
        cluster.step()
    passes = cluster.journal(60)
    cluster.close()
    by_class = [each for entry in passes for each in entry["preempts"] if each["code"] == "preempted-class"]
    assert {each["queue"] for each in by_class} == {"gpu"}
    assert {(each["numbers"]["above"], each["numbers"]["class"]) for each in by_class} == {(10, -1)}


def test_a_quota_set_by_qmgr_is_acted_on_by_the_next_pass(demo: DemoCluster) -> None:
    reply = demo.run(["qmgr", "-c", "set queue workq max_run_res_soft.ncpus += [u:carol=0]"])
    assert reply.ok
    queue = demo.read("queue", "workq")
    assert queue is not None
    assert "[u:carol=0]" in queue["max_run_res_soft.ncpus"]
    before = use_by_user(demo.server_status(), "workq")["carol"]
    for _ in range(20):
        demo.step()
    assert use_by_user(demo.server_status(), "workq")["carol"] < before


def test_a_start_that_would_overcommit_is_refused_by_the_real_guard(demo: DemoCluster) -> None:
    demo.step()
    busy = next(name for name, texts in demo.server_status().vnodes.items() if texts["state"] == "job-busy")
    waiting = next(
        name
        for name, texts in demo.server_status().jobs.items()
        if texts["job_state"] == "Q" and texts["queue"] == "workq"
    )
    with pytest.raises(PbsError, match=r"pbsteer: vnode .* there is no room for 1 more"):
        demo.server.run_job(waiting, f"({busy}:ncpus=1)")


def test_a_job_that_can_never_run_is_refused_by_the_real_hook(demo: DemoCluster) -> None:
    demo.step()
    with pytest.raises(PbsError, match="this job can never run in queue workq"):
        demo.server.submit("dave", "eng", {"Resource_List.select": "1000:ncpus=32"}, 60.0)


def test_the_same_seed_tells_the_same_story() -> None:
    pictures = []
    for _ in range(2):
        cluster = DemoCluster(seed=7, vnodes=16)
        for _ in range(3):
            cluster.step()
        home = str(cluster.state_folder.parent)
        pictures.append(json.dumps(cluster.server_status().to_data()).replace(home, "HOME"))
        cluster.close()
    assert pictures[0] == pictures[1]


def test_time_stands_still_while_paused(demo: DemoCluster) -> None:
    demo.pause()
    before = demo.now_s
    assert demo.advance(10.0) == 0.0
    assert demo.now_s == before
    demo.resume()
    assert demo.advance(0.1) > 0
    assert demo.now_s > before


def test_time_moves_at_the_speed_set(demo: DemoCluster) -> None:
    demo.set_speed(2.0)
    assert demo.advance(0.5) == 1.0


@pytest.mark.parametrize("speed", [0.5, 0.0, -1.0, 1001.0, float("nan")])
def test_a_speed_out_of_range_is_refused(demo: DemoCluster, speed: float) -> None:
    with pytest.raises(ValueError, match="must be from 1 to 1,000"):
        demo.set_speed(speed)


def test_a_call_that_is_asked_for_too_much_goes_slower_instead(demo: DemoCluster) -> None:
    demo.set_speed(1000.0)
    moved = demo.advance(3600.0)
    assert 0 < moved < 3600 * 1000
    assert demo.passes >= 1


def test_queues_neither_run_empty_nor_grow_without_end() -> None:
    server = furnish(Clock(BEGIN_S), 32)
    crowd = Crowd(server, Load(3, cores_of(server, "workq"), cores_of(server, "gpu")))
    warm_up(server, crowd)
    assert run_line(server, "set sched default scheduling = true").ok
    schedulers = [Scheduler(server, name) for name in server.scheds]
    for _ in range(48):
        for _ in range(30):
            for scheduler in schedulers:
                scheduler.cycle()
            server.clock.run_until(server.clock.now_s + 120)
        waiting = sum(job.state in "QB" for job in server.jobs.values())
        assert 5 < waiting < 500


def test_two_threads_may_use_it_at_once(demo: DemoCluster) -> None:
    errors: list[Exception] = []

    def look() -> None:
        try:
            for _ in range(20):
                snapshot_of(demo.server_status(), Settings())
                demo.run(["qmgr", "-c", "list server"])
        except Exception as error:  # noqa: BLE001 - a thread has nobody else to tell
            errors.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    demo.set_speed(1000.0)
    while thread.is_alive():
        demo.advance(0.05)
        time.sleep(0)
    thread.join()
    assert errors == []


def test_what_the_hooks_wrote_goes_with_it() -> None:
    cluster = DemoCluster(vnodes=16)
    cluster.step()
    state: Path = cluster.state_folder
    assert (state / "ledger.json").is_file()
    cluster.close()
    assert not state.parent.exists()


def test_the_ledger_is_what_the_last_pass_published(demo: DemoCluster) -> None:
    assert demo.ledger() == Ledger()
    demo.step()
    published = json.loads((demo.state_folder / "ledger.json").read_text(encoding="utf-8"))
    assert demo.ledger().to_data() == published


def test_a_queue_that_leaves_drive_is_its_schedulers_again(demo: DemoCluster) -> None:
    demo.step()
    for queue in ("workq", "gpu"):
        line = f"set queue {queue} resources_available.pbsteer_mode = observe"
        assert demo.run(["qmgr", "-c", line]).ok
    before = {name for name, texts in demo.server_status().jobs.items() if texts["job_state"] == "R"}
    for _ in range(40):
        demo.step()
    assert demo.server.scheds["default"]["scheduling"] == "True"
    assert all(entry["started"] == [] for entry in demo.journal() if entry["acted"] == [])
    after = {name for name, texts in demo.server_status().jobs.items() if texts["job_state"] == "R"}
    assert after - before


def test_a_large_one_gives_a_whole_picture() -> None:
    cluster = DemoCluster(vnodes=1000, jobs=5000)
    server_status = cluster.server_status()
    assert len(server_status.vnodes) == 1000
    assert sum(texts["job_state"] in "QB" for texts in server_status.jobs.values()) >= 5000
    cluster.close()


def test_too_few_vnodes_are_refused() -> None:
    with pytest.raises(ValueError, match="vnodes 3: must be 16 or more"):
        DemoCluster(vnodes=3)
