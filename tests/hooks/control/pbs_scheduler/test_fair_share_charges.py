"""Usage of fair share while a queue is driven: the file gets what its scheduler will not add by itself, and no more."""

from __future__ import annotations

import json
from pathlib import Path

from hooks.control.pbs_scheduler.fair_share_charges import (
    Charged,
    ChargeRecord,
    Charges,
    charge_usage,
    record_from_data,
    record_to_data,
    write_usage,
)
from hooks.pbs.files_and_output.fair_share_files import format_usage, read_usage
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.store.bounded_json import parse_json
from hooks.translate.snapshot import translate
from policy.order.fair_share_tree import FairShareTree
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import running, server_status, vnode

CONFIG = "fair_share: True ALL\nfairshare_usage_res: cput\n"
TREE = "alice 10 root 50\nbob 11 root 50\n"
NOW_S = 1_700_000_000


class Cluster:
    """A driven queue, pass after pass. ``usage``: the bytes of the usage file, as PBS's scheduler would read them."""

    def __init__(self) -> None:
        self.record: ChargeRecord = {}
        self.usage = format_usage([], NOW_S).decode("latin-1")
        self.tree: FairShareTree | None = None

    def pass_over(self, now_s: int = NOW_S, **used: str) -> Charges:
        """A pass over these running jobs, ``alice1="00:10:00"`` for a job of alice's and its CPU time."""
        jobs = {
            f"{name[-1]}.s": running(1, euser=name[:-1], **{"resources_used.cput": cput}) for name, cput in used.items()
        }
        status = self.status(jobs)
        files = {"default": {"sched_config": CONFIG, "resource_group": TREE, "usage": self.usage}}
        snapshot = translate(status, Settings(), files).snapshot
        charges = charge_usage(status, snapshot, frozenset({"workq"}), self.record, now_s)
        self.record = record_from_data(record_to_data(charges.record))
        if "default" in charges.files:
            self.usage = charges.files["default"].decode("latin-1")
        order = snapshot.queues["workq"].order
        assert order is not None
        self.tree = order.tree
        return charges

    def status(self, jobs: dict[str, dict[str, str]]) -> ServerStatus:
        return server_status(vnodes={"v1": vnode()}, jobs=jobs, scheds={"default": {}})

    def in_file(self, entity: str) -> float:
        return read_usage(self.usage)[0].get(entity, 1.0)

    def ordered_by(self, entity: str) -> float:
        assert self.tree is not None
        return self.tree.nodes[entity].usage


def test_a_job_that_starts_while_pbsteer_drives_is_charged_in_the_file_as_it_runs() -> None:
    cluster = Cluster()
    cluster.pass_over()
    cluster.pass_over(alice1="00:01:00")
    assert cluster.in_file("alice") == 61
    cluster.pass_over(alice1="00:03:00")
    assert (cluster.in_file("alice"), cluster.ordered_by("alice")) == (181, 181)
    cluster.pass_over()
    assert cluster.in_file("alice") == 181


def test_a_job_of_the_schedulers_last_cycle_counts_for_the_order_and_is_left_to_the_scheduler_while_it_runs() -> None:
    cluster = Cluster()
    cluster.pass_over(alice1="00:10:00")
    cluster.pass_over(alice1="00:11:00")
    assert (cluster.in_file("alice"), cluster.ordered_by("alice")) == (1, 61)


def test_once_it_has_ended_the_file_gets_its_use_since_that_cycle() -> None:
    cluster = Cluster()
    cluster.pass_over(alice1="00:10:00")
    cluster.pass_over(alice1="00:11:00")
    cluster.pass_over()
    assert (cluster.in_file("alice"), cluster.ordered_by("alice")) == (61, 61)


def test_use_that_is_reported_lower_than_before_takes_nothing_back() -> None:
    cluster = Cluster()
    cluster.pass_over()
    cluster.pass_over(bob1="00:02:00")
    cluster.pass_over(bob1="00:01:00")
    assert cluster.in_file("bob") == 121


def test_use_without_a_finite_value_is_nothing_and_the_record_stays_whole() -> None:
    config = "fair_share: True ALL\nfairshare_usage_res: cput*10.0**308\n"
    jobs = {"1.s": running(1, euser="alice", **{"resources_used.cput": "00:10:00"})}
    status = Cluster().status(jobs)
    files = {"default": {"sched_config": config, "resource_group": TREE, "usage": Cluster().usage}}
    snapshot = translate(status, Settings(), files).snapshot
    record = charge_usage(status, snapshot, frozenset({"workq"}), {}, NOW_S).record
    assert record == {"default": {"1.s": Charged("alice", 0.0, 0.0)}}
    assert parse_json(json.dumps(record_to_data(record))) == record_to_data(record)


def test_usage_decays_when_the_interval_is_over() -> None:
    cluster = Cluster()
    cluster.pass_over()
    cluster.pass_over(alice1="00:10:00")
    charges = cluster.pass_over(NOW_S + 86_401, alice1="00:10:00")
    assert charges.files
    assert cluster.in_file("alice") == 300.5
    assert read_usage(cluster.usage)[1] == NOW_S + 86_400


def test_nothing_is_charged_where_the_scheduler_has_cycles_of_its_own() -> None:
    status = Cluster().status({"1.s": running(1, euser="alice", **{"resources_used.cput": "00:01:00"})})
    files = {"default": {"sched_config": CONFIG, "resource_group": TREE}}
    snapshot = translate(status, Settings(), files).snapshot
    assert charge_usage(status, snapshot, frozenset(), {}, NOW_S) == Charges({}, {})


def test_the_file_is_replaced_and_the_scheduler_told_to_read_it(tmp_path: Path) -> None:
    (tmp_path / "usage").write_bytes(b"old")
    status = server_status(vnodes={"v1": vnode()}, scheds={"default": {"sched_priv": str(tmp_path)}})
    assert write_usage(status, {"default": b"new"}) == []
    assert ((tmp_path / "usage").read_bytes(), (tmp_path / "usage.touch").exists()) == (b"new", True)


def test_a_folder_that_cannot_be_written_is_reported_and_stops_nothing(tmp_path: Path) -> None:
    status = server_status(vnodes={"v1": vnode()}, scheds={"default": {"sched_priv": str(tmp_path / "gone")}})
    (failure,) = write_usage(status, {"default": b"new"})
    assert "fair share usage of scheduler default is not written" in failure


def test_a_record_that_cannot_be_read_is_none() -> None:
    assert record_from_data({"default": {"1.s": ["alice"]}}) == {}
    assert record_from_data({"default": 3}) == {}
