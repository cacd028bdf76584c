"""An error in the hook at a job's end, wherever it is: who could be asked and ended with the exit status is queued
again, nobody else."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

from hooks.checkpoint.on_job_host import decide_requeue_at_job_end as ended
from hooks.checkpoint.on_job_host.read_saved_task_notes import SAVED
from hooks.deploy.bundle_hook import build
from hooks.entries import execjob_epilogue
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from tests.hooks.sample_server_statuses import running, server_status

_RUNNER = Path(__file__).parents[1] / "stand_in" / "fail_at_each_line.py"


class EndedJob:
    """As much of a job as the hook looks at."""

    id = "1.server"
    stime = None

    def __init__(self, exit_status: int, save: str | None = "signal") -> None:
        self.Exit_status = exit_status
        self.Resource_List = {"pbsteer_save": save}
        self.is_queued_again = False

    def in_ms_mom(self) -> bool:
        return True

    def rerun(self) -> None:
        self.is_queued_again = True


@pytest.mark.parametrize(
    ("exit_status", "save", "method", "again"),
    [
        (85, "signal", "requeue", True),
        (85, None, "signal", True),
        (85, "requeue", "signal", False),
        (85, None, "requeue", False),
        (0, "signal", "requeue", False),
        (1, "signal", "requeue", False),
        (84, "signal", "requeue", False),
    ],
)
def test_who_saved_comes_back_though_the_hook_fails_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, exit_status: int, save: str | None, method: str, again: bool
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("on purpose")

    config = tmp_path / "config.json"
    config.write_text(json.dumps({"checkpoint": {"method": method}}), encoding="utf-8")
    monkeypatch.setitem(sys.modules, "pbs_ifl", types.ModuleType("pbs_ifl"))
    monkeypatch.setattr(ended, "ask_server", fail)
    monkeypatch.setattr(execjob_epilogue, "may_have_been_asked", lambda *_: True)
    job = EndedJob(exit_status, save)
    event = types.SimpleNamespace(job=job)
    log: list[str] = []
    pbs = types.SimpleNamespace(
        event=lambda: event,
        pbs_conf={"PBS_HOME": "/nowhere"},
        hook_config_filename=str(config),
        logjobmsg=lambda job_id, words: log.append(f"{job_id};{words}"),
    )
    with pytest.raises(MemoryError, match="on purpose"):
        execjob_epilogue.handle(pbs)
    assert job.is_queued_again is again
    done = "is requeued, as one that saved" if again else "has ended"
    assert log == [f"1.server;pbsteer: it ended with {exit_status} and {done}: MemoryError: on purpose"]


def fail_at_each_line(folder: Path, cluster: ServerStatus, **job: Any) -> dict[str, bool]:
    """Whether the job is requeued, by the line of ours at which the hook fails."""
    files = {"hook.py": build("execjob_epilogue"), "config.json": "{}"}
    scenario = {
        "home": str(folder),
        "config": str(folder / "config.json"),
        "cluster": cluster.to_data(),
        "job": {"id": "1.s", "Resource_List": {"pbsteer_save": "signal"}, **job},
    }
    for name, text in {**files, "scenario.json": json.dumps(scenario)}.items():
        (folder / name).write_text(text, encoding="utf-8")
    argv = [sys.executable, "-I", "-S", "-OO", str(_RUNNER), str(folder / "hook.py"), str(folder / "scenario.json")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    queued_again: dict[str, bool] = json.loads(done.stdout)
    return queued_again


def test_an_error_at_any_line_after_it_knows_how_the_job_ended_loses_no_job_that_saved(tmp_path: Path) -> None:
    now_s = int(time.time())
    mark = f"pbsteer for=9.s how=signal asked={now_s - 5} until={now_s + 60}"
    cluster = server_status({"1.s": running(stime="900") | {"estimated.site": mark}})
    queued_again = fail_at_each_line(tmp_path, cluster, Exit_status=85)
    entry = "hooks/entries/execjob_epilogue.py"
    assert {place.partition(":")[0] for place in queued_again} >= {
        entry,
        "hooks/checkpoint/on_job_host/skip_server_query_at_job_end.py",
        "hooks/checkpoint/on_job_host/decide_requeue_at_job_end.py",
    }
    lines = Path(execjob_epilogue.__file__).read_text(encoding="utf-8").splitlines()
    guarded_from = lines.index("    try:") + 2
    lost = {place for place, again in queued_again.items() if not again}
    assert lost <= {f"{entry}:{number} handle" for number in range(guarded_from)}


def test_an_error_at_any_line_after_it_knows_of_a_failed_restart_loses_no_job(tmp_path: Path) -> None:
    # A note that outlives each of the runs.
    (tmp_path / "mom_priv" / f"{SAVED}1.s.42").mkdir(parents=True)
    queued_again = fail_at_each_line(
        tmp_path, server_status({"1.s": running(stime="900")}), session_id=42, Exit_status=0
    )
    entry = "hooks/entries/execjob_epilogue.py"
    assert {place.partition(":")[0] for place in queued_again} >= {
        entry,
        "hooks/checkpoint/on_job_host/read_saved_task_notes.py",
        "hooks/checkpoint/on_job_host/decide_requeue_at_job_end.py",
    }
    lines = Path(execjob_epilogue.__file__).read_text(encoding="utf-8").splitlines()
    known_from = next(number for number, line in enumerate(lines, 1) if "is_lost = has_failed_restart" in line) + 1
    before = {f"{entry}:{number} handle" for number in range(known_from)}
    lost = {place for place, again in queued_again.items() if not again}
    assert {
        place for place in lost if not place.startswith("hooks/checkpoint/on_job_host/read_saved_task_notes.py:")
    } <= before
