"""What a pass of pbsteer has published, and what it would decide of one more job."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.store.state_files import LAST_PASS
from hooks.store.state_folder import state_folder
from migration.programs.run_external_program_with_limits import TIMED_OUT
from migration.schedulers.pbs import PbsScheduler, select_of
from migration.schedulers.pbsteer_earmarks_and_would_start import LastPass, read_last_pass, read_status, would_start
from migration.schedulers.scheduler_interface import LocalJob, SchedulerSilent, Verdict
from policy.migration.job_demand import Demand
from policy.model.allocation import Allocation, Spot
from policy.model.ledger_between_passes import Earmark, Ledger
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import NOW_S, job, running, server_status, vnode
from tests.migration.schedulers.fake_run_with_recorded_outputs import FakeRun, failed

GUESTS = {"queue_type": "Execution", "enabled": "True", "started": "True"}
DRIVEN = {**GUESTS, "resources_available.pbsteer_mode": "drive"}


def guest(cores: int, walltime_s: int = 600) -> LocalJob:
    return LocalJob("mg_a.1_1", "alice", Demand(cores=cores, walltime_s=walltime_s), "/", "/w", "/o", "/e")


def verdict_on(status: ServerStatus, cores: int, ledger: Ledger | None = None, walltime_s: int = 600) -> Verdict:
    last = LastPass(Settings(), ledger or Ledger(), frozenset({"global"}))
    local = guest(cores, walltime_s)
    return would_start(status, last, local, "global", select_of(local.demand))


def status_of(**parts: Any) -> ServerStatus:
    return server_status(queues={"workq": DRIVEN, "global": DRIVEN}, **parts)


def test_a_job_that_fits_would_start_and_one_that_does_not_is_told_why() -> None:
    free = status_of(vnodes={"v1": vnode(8)})
    assert verdict_on(free, 8) == Verdict(now=True)
    verdict = verdict_on(free, 9)
    assert verdict.now is False
    assert "9" in verdict.text


def test_cores_that_the_head_needs_are_for_jobs_that_end_before() -> None:
    """Six of eight cores run for 2,000 s more, the head wants all eight: two are idle until then."""
    status = status_of(
        vnodes={"v1": vnode(8, used=6)},
        jobs={
            "1.s": {**running(6, walltime="00:50:00"), "queue": "workq"},
            "2.s": job(cores=8, queue="workq", user="bob"),
        },
    )
    assert verdict_on(status, 2, walltime_s=60) == Verdict(now=True)
    assert verdict_on(status, 2, walltime_s=90_000).now is False


def earmark(cores: int) -> Ledger:
    allocation = Allocation((Spot("v1", (("ncpus", cores),), 1),))
    return Ledger(earmarks={"9.s": Earmark(allocation, ("8.s",), NOW_S)})


def test_only_idle_cores_count_as_earmarked() -> None:
    last = LastPass(Settings(), earmark(6), frozenset())
    assert last.count_earmarked({"v1": 8}) == 6
    assert last.count_earmarked({"v1": 4, "v2": 8}) == 4
    assert last.count_earmarked({"v2": 8}) == 0


def publish(home: Path, **changes: Any) -> None:
    folder = state_folder(str(home))
    folder.mkdir(exist_ok=True)
    data = {
        "time_s": time.time(), "acted": ["global"], "settings": Settings().to_data(), "ledger": earmark(3).to_data(),
        **changes,
    }  # fmt: skip
    (folder / LAST_PASS).write_text(json.dumps(data))


def test_the_last_pass_counts_while_it_is_recent(tmp_path: Path) -> None:
    assert read_last_pass(str(tmp_path), time.time()) is None
    publish(tmp_path)
    last = read_last_pass(str(tmp_path), time.time())
    assert last is not None
    assert (set(last.driven), last.count_earmarked({"v1": 8})) == ({"global"}, 3)
    assert read_last_pass(str(tmp_path), time.time() + 3_600) is None
    publish(tmp_path, ledger={"v": "unknown"})
    assert read_last_pass(str(tmp_path), time.time()) is None


NODES = {"v1": {"state": "free", "resources_available": {"ncpus": 8}, "resources_assigned": {"ncpus": 2}}}
OUTPUTS = {
    "qstat -Q": json.dumps({"Queue": {"global": {"enabled": "True", "started": "True", "total_jobs": 1}}}),
    "pbsnodes": json.dumps({"nodes": NODES}),
    "qstat -f -w": "Job Id: 2.s\n    job_state = Q\n    Resource_List.ncpus = 5\n\n",
}


def test_earmarked_cores_and_the_promised_head_are_in_the_answer(tmp_path: Path) -> None:
    now_s = time.time()
    ledger = earmark(3)._replace(promises={"2.s": now_s + 1_000})
    publish(tmp_path, ledger=ledger.to_data())
    free = PbsScheduler(FakeRun(OUTPUTS), "global", pbs_home=str(tmp_path)).free()
    assert (free.idle, free.earmarked, free.reserved) == (6, 3, 5)
    assert free.head_in_s is not None
    assert 900 < free.head_in_s <= 1_000
    without = PbsScheduler(FakeRun(OUTPUTS), "global").free()
    assert (without.earmarked, without.reserved, without.head_in_s) == (0, 0, None)


def test_pbs_cannot_say_where_pbsteer_does_not_start_the_jobs(tmp_path: Path) -> None:
    assert PbsScheduler(FakeRun({}), "global").would_start_now(guest(1)) == Verdict(None)
    publish(tmp_path, acted=["workq"])
    assert PbsScheduler(FakeRun({}), "global", pbs_home=str(tmp_path)).would_start_now(guest(1)) == Verdict(None)


def test_a_library_that_no_python_can_load_says_nothing_and_a_server_that_does_not_answer_is_silent() -> None:
    run = FakeRun({"/": '{"error": "no library: pbs_ifl below /x cannot be loaded"}\n'})
    assert read_status(run, "/x", 10) is None
    assert run.calls
    assert len(run.calls) == len({call.argv[0] for call in run.calls})
    assert read_status(FakeRun({"/": failed(1, "no such module")}), "/x", 10) is None
    run = FakeRun({"/": '{"error": "no answer from server"}\n'})
    with pytest.raises(SchedulerSilent, match="no answer from server"):
        read_status(run, "/x", 10)
    assert len(run.calls) == 1
    with pytest.raises(SchedulerSilent, match="killed after"):
        read_status(FakeRun({"/": failed(TIMED_OUT, "killed after 10 s")}), "/x", 10)
    with pytest.raises(SchedulerSilent, match="cannot be used"):
        read_status(FakeRun({"/": "{}\n[]\n"}), "/x", 10)
