"""What the hook on a MoM makes of the notes that the checkpoint script leaves when it has restarted a job."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hooks.entries.exechost_periodic import report_restarted
from hooks.method import SAVED
from hooks.restarted import RESTARTED, find_restarted

SCRIPT = Path(__file__).parents[2] / "hooks" / "scripts" / "checkpoint.py"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "mom_priv").mkdir()
    return tmp_path


def report(home: Path, sessions: dict[str, int | None]) -> dict[str, Any]:
    jobs = {job_id: SimpleNamespace(session_id=session) for job_id, session in sessions.items()}
    event = SimpleNamespace(job_list=jobs)
    report_restarted(SimpleNamespace(event=lambda: event, pbs_conf={"PBS_HOME": str(home)}))
    return {job_id: job.session_id for job_id, job in jobs.items()}


def test_a_restarted_job_is_reported_once_with_another_session_than_before(home: Path) -> None:
    (home / "mom_priv" / f"{RESTARTED}1.s").touch()
    assert report(home, {"1.s": 42, "2.s": 43}) == {"1.s": -42, "2.s": 43}
    assert report(home, {"1.s": -42, "2.s": 43}) == {"1.s": -42, "2.s": 43}
    (home / "mom_priv" / f"{RESTARTED}1.s").touch()
    assert report(home, {"1.s": -42}) == {"1.s": 42}


def test_a_note_of_a_job_that_is_gone_is_taken_away(home: Path) -> None:
    (home / "mom_priv" / f"{RESTARTED}1.s").touch()
    assert report(home, {"2.s": 43}) == {"2.s": 43}
    assert find_restarted(str(home)) == {}


def test_the_script_leaves_the_notes_that_the_hooks_look_for() -> None:
    script = SCRIPT.read_text(encoding="utf-8")
    assert f'SAVED = "{SAVED}"' in script
    assert f'RESTARTED = "{RESTARTED}"' in script
