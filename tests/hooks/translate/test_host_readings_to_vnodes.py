"""Hosts' reports become readings: whose they are, in which units, and which are not believed."""

from __future__ import annotations

import pytest

from hooks.translate.host_readings_to_vnodes import Readings, read_readings
from hooks.translate.snapshot import translate
from policy.model.jobs_runs_vnodes_queues import Reading, Vnode
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import server_status, vnode

NOW_S = 10_000.0
LINE = "t=9990;idle=0.5;mem=1024/2048;net=900/1000;temp=41/100"


def read(vnodes: dict[str, Vnode], texts: dict[str, str]) -> Readings:
    shown = {name: {"resources_available.pbsteer_reading": text} for name, text in texts.items()}
    return read_readings(shown, vnodes.values(), NOW_S, RankingSettings())


def test_a_host_with_one_vnode_has_all_of_it_in_the_policy_s_units() -> None:
    readings = read({"n1": Vnode("n1", {"ncpus": 8}, attributes={"speed": "2.5"})}, {"n1": LINE})
    mib = 1024
    assert readings.of == {"n1": Reading(9990, 10, 20, 1024 * mib, 2048 * mib, 900, 1000, 41, 100)}
    assert readings.problems == ()


def test_a_host_s_vnodes_have_parts_by_their_cores_and_one_temperature() -> None:
    vnodes = {
        "h": Vnode("h", {"ncpus": 0}, host="h"),
        "h[0]": Vnode("h[0]", {"ncpus": 6}, host="h"),
        "h[1]": Vnode("h[1]", {"ncpus": 2}, host="h"),
        "other": Vnode("other", {"ncpus": 2}, host="other"),
    }
    found = read(vnodes, {"h": LINE}).of
    assert set(found) == {"h", "h[0]", "h[1]"}
    assert [found[name].memory_kib for name in ("h", "h[0]", "h[1]")] == [0, 768 * 1024, 256 * 1024]
    assert [found[name].network for name in ("h[0]", "h[1]")] == [675, 225]
    assert [(found[name].compute, found[name].compute_all) for name in ("h[0]", "h[1]")] == [(3, 6), (1, 2)]
    assert {found[name].temperature for name in found} == {41}


def test_what_no_sensor_told_is_none_and_not_zero() -> None:
    found = read({"n1": Vnode("n1", {"ncpus": 8})}, {"n1": "t=9000"}).of
    assert found == {"n1": Reading(9000)}


def test_a_text_that_is_no_reading_is_reported_and_nothing_is_guessed() -> None:
    readings = read({"n1": Vnode("n1", {"ncpus": 8})}, {"n1": "idle=1"})
    assert readings.of == {}
    assert readings.problems == ("vnode n1: resources_available.pbsteer_reading is 'idle=1', which is no reading",)


@pytest.mark.parametrize(("time_s", "at_s"), [(NOW_S + 30, NOW_S), (NOW_S - 5000, NOW_S - 5000)])
def test_a_clock_that_is_a_little_ahead_is_now_and_one_behind_is_old(time_s: float, at_s: float) -> None:
    assert read({"n1": Vnode("n1", {"ncpus": 8})}, {"n1": f"t={time_s}"}).of["n1"].at_s == at_s


def test_a_clock_that_is_far_ahead_is_not_believed() -> None:
    readings = read({"n1": Vnode("n1", {"ncpus": 8})}, {"n1": f"t={NOW_S + 3600};idle=1"})
    assert readings.of == {}
    assert readings.problems == ("vnode n1: its clock is 3600 s ahead of the server's: not believed",)


def test_of_two_reports_of_one_host_the_newer_counts() -> None:
    vnodes = {name: Vnode(name, {"ncpus": 4}, host="h") for name in ("a", "b")}
    found = read(vnodes, {"a": "t=100;idle=0", "b": "t=9000;idle=1"}).of
    assert {name: reading.compute for name, reading in found.items()} == {"a": 4, "b": 4}


def test_readings_are_in_the_snapshot_and_not_among_what_jobs_can_ask_for() -> None:
    told = vnode(8)
    told["resources_available.pbsteer_reading"] = "t=1;idle=1"
    snapshot = translate(server_status(vnodes={"v1": told, "v2": vnode(8)}), Settings()).snapshot
    cluster = snapshot.cluster()
    assert set(cluster.readings) == {"v1"}
    assert "pbsteer_reading" not in cluster.vnodes["v1"].attributes
