"""An error in the hook at a job's end: who wished to be asked and ended with the exit status is queued again, nobody
else."""

from __future__ import annotations

import sys
import types

import pytest

from hooks import ended
from hooks.entries import execjob_epilogue


class EndedJob:
    """As much of a job as the hook looks at."""

    id = "1.server"

    def __init__(self, exit_status: int, save: str | None = "signal") -> None:
        self.Exit_status = exit_status
        self.Resource_List = {"pbsteer_save": save}
        self.is_queued_again = False

    def in_ms_mom(self) -> bool:
        return True

    def rerun(self) -> None:
        self.is_queued_again = True


@pytest.mark.parametrize(
    ("exit_status", "save", "again"),
    [(85, "signal", True), (85, None, False), (0, "signal", False), (1, "signal", False), (84, "signal", False)],
)
def test_who_saved_comes_back_though_the_hook_fails(
    monkeypatch: pytest.MonkeyPatch, exit_status: int, save: str | None, again: bool
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("on purpose")

    monkeypatch.setitem(sys.modules, "pbs_ifl", types.ModuleType("pbs_ifl"))
    monkeypatch.setattr(ended, "ask_server", fail)
    job = EndedJob(exit_status, save)
    event = types.SimpleNamespace(job=job)
    pbs = types.SimpleNamespace(event=lambda: event, pbs_conf={"PBS_HOME": "/nowhere"}, hook_config_filename=None)
    with pytest.raises(MemoryError, match="on purpose"):
        execjob_epilogue.handle(pbs)
    assert job.is_queued_again is again
