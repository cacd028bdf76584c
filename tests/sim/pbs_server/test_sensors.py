"""What simulated hosts report: it follows from their jobs, goes to the server as real reports do, and ranks vnodes."""

from __future__ import annotations

from hooks.telemetry.host_reading_format import parse_reading
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.settings.site_settings import Settings
from sim.demo.demo_cluster_with_hooks import DemoCluster
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.sensors import Sensors, read_sensors
from sim.pbs_server.server import SimServer
from tests.hooks.sample_server_statuses import snapshot_of

TEXT = "resources_available.pbsteer_reading"


def make_server(vnodes: int = 4) -> SimServer:
    server = SimServer("s", Clock(1000.0))
    server.add_queue("workq")
    for number in range(vnodes):
        server.add_vnode(f"n{number}", {"ncpus": "8", "mem": "16gb"})
    Sensors(server, RankingSettings(interval_s=10)).start()
    return server


def test_a_host_with_a_job_has_less_of_all_and_is_hotter() -> None:
    server = make_server()
    vnode = server.vnodes["n0"]
    idle = read_sensors(vnode, 1.0)
    vnode.assign("1.s", (("ncpus", 8), ("mem", 8 << 20)), 1, False, 1.0)
    busy = read_sensors(vnode, 1.0)
    assert idle.idle == 1.0
    assert busy.idle is not None
    assert busy.idle < 0.1
    for mine, theirs in ((busy.memory_mib, idle.memory_mib), (busy.network_mbit, idle.network_mbit)):
        assert mine is not None
        assert theirs is not None
        assert mine.left < theirs.left
    assert busy.heat is not None
    assert idle.heat is not None
    assert busy.heat.now > idle.heat.now


def test_every_host_reports_within_an_interval_and_only_what_has_changed() -> None:
    server = make_server()
    server.fail_vnode("n3")
    server.clock.run_until(1011.0)
    first = {name: vnode.texts.get(TEXT) for name, vnode in server.vnodes.items()}
    assert [name for name, text in first.items() if text] == ["n0", "n1", "n2"]
    server.clock.run_until(1020.0)
    assert {name: vnode.texts.get(TEXT) for name, vnode in server.vnodes.items()} == first
    server.vnodes["n1"].assign("1.s", (("ncpus", 8),), 1, False, 1020.0)
    server.clock.run_until(1031.0)
    changed = {name for name, vnode in server.vnodes.items() if vnode.texts.get(TEXT) != first[name]}
    assert "n1" in changed
    server.clock.run_until(1100.0)
    for name in ("n0", "n1", "n2"):
        reading = parse_reading(server.vnodes[name].texts[TEXT])
        assert reading is not None
        assert server.clock.now_s - reading.time_s <= 30


def test_the_demo_s_hosts_report_and_jobs_that_wish_for_it_are_ranked_by_it() -> None:
    cluster = DemoCluster(vnodes=32)
    try:
        for _ in range(12):
            cluster.step()
        server_status = cluster.server_status()
        snapshot = snapshot_of(server_status, Settings())
        index = snapshot.cluster()
        down = {name for name, vnode in index.vnodes.items() if "down" in vnode.state}
        assert set(index.readings) == set(index.vnodes) - down
        ranked = {job.user for job in snapshot.jobs.values() if job.rank} | {
            run.job.user for run in snapshot.runs.values() if run.job.rank
        }
        assert ranked == {"erin", "frank"}
    finally:
        cluster.close()
