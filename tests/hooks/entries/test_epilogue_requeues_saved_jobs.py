"""The hook at a job's end: who was asked is requeued once its host is there, and the log says what was found."""

from __future__ import annotations

import sys
import time
import types
from pathlib import Path

import pytest

from hooks.checkpoint.on_job_host.decide_requeue_at_job_end import RunOnServer
from hooks.checkpoint.on_job_host.read_saved_task_notes import SAVED as SAVED_NOTE
from hooks.entries import execjob_epilogue
from hooks.pbs.job_attributes.victim_mark import Mark
from policy.settings.site_settings import CheckpointSettings

SAVED = CheckpointSettings().exit_status
ASKED = RunOnServer(900.0, Mark("9.s", "signal", 1000, 1060))
NOBODY = RunOnServer(900.0, Mark())
DEBUG = 0x80


class Ended:
    """One end of a job as the hook meets it: ``answers`` are the server's, one after the other, ``config`` is the file
    of the settings, and ``save`` the job's own method."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, exit_status: int, *answers: RunOnServer | None, home: str = "/nowhere",
        config: Path | None = None, save: str | None = "signal",
    ) -> None:  # fmt: skip
        self.reruns: list[str] = []
        self.log: list[tuple[int, str]] = []
        self.left = list(answers)
        monkeypatch.setitem(sys.modules, "pbs_ifl", types.ModuleType("pbs_ifl"))
        monkeypatch.setattr(
            "hooks.checkpoint.on_job_host.decide_requeue_at_job_end.ask_server", lambda *_: self.left.pop(0)
        )
        job = types.SimpleNamespace(
            id="1.server",
            session_id=42,
            stime=950,
            Exit_status=exit_status,
            Resource_List={"pbsteer_save": save},
            in_ms_mom=lambda: True,
            rerun=lambda: self.reruns.append("1.server"),
        )
        event = types.SimpleNamespace(job=job)
        execjob_epilogue.handle(
            types.SimpleNamespace(
                event=lambda: event,
                pbs_conf={"PBS_HOME": home},
                hook_config_filename=str(config) if config is not None else None,
                EVENT_DEBUG=DEBUG,
                logmsg=lambda level, words: self.log.append((level, words)),
                logjobmsg=lambda job_id, words: self.log.append((8, f"{job_id};{words}")),
            )
        )


def test_who_was_asked_is_queued_again_and_the_log_says_when_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    end = Ended(monkeypatch, SAVED, ASKED)
    assert end.reruns == ["1.server"]
    [(level, words)] = end.log
    assert level == 8
    assert words.startswith(f"1.server;pbsteer: it ended with {SAVED} and is requeued, after ")
    assert words.endswith("it was asked at 1000 to save until 1060, in a run since 900")


def test_its_host_tells_when_it_began_where_the_server_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    end = Ended(monkeypatch, 0, RunOnServer(None, Mark("9.s", "signal", int(time.time()), int(time.time()) + 60)))
    assert end.reruns == ["1.server"]
    assert end.log[0][1].endswith("in a run since 945")


SETTINGS = '{"checkpoint": {"method": "signal"}}'


@pytest.mark.parametrize("save", [None, "signal"])
@pytest.mark.parametrize(
    "text",
    [SETTINGS[:-3], "", "[]", '{"checkpoint": null}', '{"checkpoint": ' + "[" * 200_000 + "]" * 200_000 + "}"],
    ids=["cut off", "empty", "a list", "no table", "nested"],
)
def test_the_server_is_asked_also_where_the_settings_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, save: str | None
) -> None:
    config = tmp_path / "pbsteer_execjob_epilogue.CF"
    config.write_text(text)
    end = Ended(monkeypatch, SAVED, ASKED, config=config, save=save)
    assert (end.reruns, end.left) == (["1.server"], [])
    logged = " ".join(words for _, words in end.log)
    assert f"{config} cannot be read: exit status 85 means saved and not done" in logged
    assert Ended(monkeypatch, SAVED, NOBODY, config=config, save=save).reruns == []


def test_its_end_is_held_back_until_the_server_and_its_host_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    end = Ended(monkeypatch, SAVED, None, ASKED._replace(is_host_there=False), ASKED, None)
    assert (end.reruns, end.left) == (["1.server"], [None])


def test_whom_nobody_asked_has_ended_and_a_debug_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    end = Ended(monkeypatch, SAVED, NOBODY, None)
    assert (end.reruns, end.left) == ([], [None])
    [(level, words)] = end.log
    assert level == DEBUG
    assert words.startswith(f"1.server;pbsteer: it ended with {SAVED} and has ended, after ")
    assert words.endswith("it was not asked to save")


@pytest.fixture
def home(tmp_path: Path) -> str:
    """A PBS_HOME in which the job is noted as saved and not restarted."""
    (tmp_path / "mom_priv").mkdir()
    (tmp_path / "mom_priv" / f"{SAVED_NOTE}1.server.42").touch()
    return str(tmp_path)


@pytest.mark.parametrize("exit_status", [0, 265])
@pytest.mark.parametrize("asked", [ASKED, NOBODY, ASKED._replace(is_rerunnable=False)])
def test_whom_pbs_could_not_restart_is_queued_again(
    monkeypatch: pytest.MonkeyPatch, home: str, exit_status: int, asked: RunOnServer
) -> None:
    end = Ended(monkeypatch, exit_status, None, asked, home=home)
    assert (end.reruns, end.left) == (["1.server"], [])
    [(level, words)] = end.log
    assert level == 8
    assert words.startswith(f"1.server;pbsteer: it ended with {exit_status} and is requeued, after ")
    assert words.endswith(": it could not be started again from its checkpoint")


def test_whom_pbs_could_not_restart_is_queued_again_though_the_server_does_not_say(
    monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setattr(execjob_epilogue, "SERVER_BACK_S", 0)
    assert Ended(monkeypatch, 0, None, home=home).reruns == ["1.server"]


def test_who_was_deleted_while_pbs_tried_to_restart_it_has_ended(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    end = Ended(monkeypatch, 0, ASKED._replace(is_deleted=True), home=home)
    assert (end.reruns, end.left) == ([], [])
    [(level, words)] = end.log
    assert level == DEBUG
    assert words.endswith("it was deleted")


@pytest.mark.parametrize("broken", ["has_failed_restart", "may_be_run_again", "may_have_been_asked"])
def test_whatever_fails_a_job_that_says_that_it_saved_is_queued_again(
    monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fail(*_: object) -> bool:
        raise RuntimeError("on purpose")

    monkeypatch.setattr(execjob_epilogue, broken, fail)
    reruns: list[str] = []
    job = types.SimpleNamespace(
        id="1.server",
        Exit_status=SAVED,
        Resource_List={"pbsteer_save": "signal"},
        in_ms_mom=lambda: True,
        rerun=lambda: reruns.append("1.server"),
    )
    event = types.SimpleNamespace(job=job)
    with pytest.raises(RuntimeError, match="on purpose"):
        execjob_epilogue.handle(
            types.SimpleNamespace(
                event=lambda: event,
                pbs_conf={"PBS_HOME": "/nowhere"},
                hook_config_filename=None,
                logjobmsg=lambda *_: None,
            )
        )
    assert reruns == ["1.server"]


def test_an_end_that_is_taken_for_the_job_s_own_though_it_was_asked_is_always_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program that saves and says nothing of it has lost what it would have gone on with: not in silence."""
    end = Ended(monkeypatch, 0, ASKED._replace(mark=ASKED.mark._replace(why="beneficiary-gone")))
    assert end.reruns == []
    [(level, words)] = end.log
    assert level == 8
    assert words.endswith("only exit status 85 says that work is saved and not done")
