"""Passes before their minute: a pause between them, whatever calls for them, and a call that no failure loses."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest

from migration.cli.for_service.mgrecv_pass_at_target import main as mgrecv
from migration.passes.early_pass import GAP_S, SOURCE, TARGET, answer_call, call_file, call_for_pass, early_pass
from migration.passes.target.target_pass_starts_processes_and_cleans_up import run_target_pass
from migration.target_job.job_process_lock_and_transfer_slots import take_slot
from tests.migration.target_job.fake_target import FakeTarget

UNITS = Path(__file__).parents[3] / "examples/migration"


@pytest.fixture
def target(tmp_path: Path) -> FakeTarget:
    return FakeTarget(tmp_path)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that are made, instead of making them."""
    found: list[float] = []
    monkeypatch.setattr("time.sleep", found.append)
    return found


def test_the_first_comes_at_once_and_each_other_some_seconds_after_the_end_of_the_last(
    tmp_path: Path, pauses: list[float]
) -> None:
    with early_pass(tmp_path, "mgsched"):
        pass
    with pytest.raises(OSError, match="broken"), early_pass(tmp_path, "mgsched"):
        raise OSError("broken")
    with early_pass(tmp_path, "mgsched"):
        pass
    assert pauses[0] == 0
    assert all(GAP_S - 1 < pause <= GAP_S for pause in pauses[1:]), "a failed one counts"
    with early_pass(tmp_path, "mgrecv"):
        pass
    assert pauses[3] == 0
    os.utime(tmp_path / "mgsched.early", (time.time() + 10**6,) * 2)
    with early_pass(tmp_path, "mgsched"):
        pass
    assert pauses[4] == GAP_S, "a clock that was set back"
    os.utime(tmp_path / "mgsched.early", (0, 0))
    with early_pass(tmp_path, "mgsched"):
        pass
    assert pauses[5] == 0


def test_a_pass_that_cannot_begin_has_its_pause_too(
    tmp_path: Path, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What starts it would start it again at once."""
    monkeypatch.setenv("MG_HOME", str(tmp_path))
    for _ in range(2):
        with pytest.raises(SystemExit, match=r"no cluster\.toml"):
            mgrecv(["--early"], standalone_mode=False)
    assert [round(pause / GAP_S) for pause in pauses] == [0, 1]


def test_a_call_stands_until_a_pass_has_begun(target: FakeTarget) -> None:
    call_for_pass(target.site.home, TARGET)
    with take_slot(target.site.home, "mgrecv", 1):
        assert run_target_pass(target.site, lambda _: None) == "another pass is under way"
        assert call_file(target.site.home, TARGET).exists()
    target.put(state="Waiting")
    started: list[str] = []
    assert run_target_pass(target.site, started.append) == ""
    assert started == ["a.1"]
    assert not call_file(target.site.home, TARGET).exists()
    answer_call(target.site.home, TARGET)


def test_a_call_that_cannot_be_made_says_nothing(tmp_path: Path) -> None:
    call_for_pass(tmp_path / "no-such-folder", SOURCE)


def test_the_units_watch_what_calls_and_start_early_passes() -> None:
    for name in (SOURCE, TARGET):
        called = call_file(Path("/var/spool/pbsteer-mg"), name)
        assert f"PathExists={called}\n" in (UNITS / f"{name}.path").read_text()
        assert f"Unit={name}-early.service\n" in (UNITS / f"{name}.path").read_text()
        (command,) = re.findall("^ExecStart=(.*)$", (UNITS / f"{name}-early.service").read_text(), re.MULTILINE)
        assert command.endswith(f"/{name} --early")
