"""What is said of a change whose program could not be run: it was not sent, so that nothing is left to be confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import NOON_S, PBS, ScriptedBackend
from tui.audit.audit_file import Actor, AuditLog
from tui.backends.interface.backend_protocol import BackendError, NotSentError, Reply
from tui.backends.reader_or_programs.run_program import run
from tui.operations.by_target import job_ops
from tui.operations.compare_and_set import make_all
from tui.state.cluster_view import see


class WithoutPrograms(ScriptedBackend):
    """A host on which PBS's programs are gone."""

    def run(self, argv: Sequence[str]) -> Reply:
        run(["/nowhere/pbs/bin/" + argv[0]], 5.0)
        raise AssertionError(argv)


def test_a_change_whose_program_cannot_be_run_was_not_sent(tmp_path: Path) -> None:
    told: list[str] = []
    audit = AuditLog(tmp_path / "audit.jsonl", Actor("root", "here"), "hpc1", alert=told.append)
    backend = WithoutPrograms()
    changes = job_ops.hold(see(backend.server_status, Settings(), Ledger(), 0.0), PBS, ["13.hpc1", "14.hpc1"]).changes
    first, second = make_all(backend, changes, audit, lambda: NOON_S)
    assert first.text == "not sent: hold 13: cannot run /nowhere/pbs/bin/qhold: No such file or directory"
    assert (first.ok, second.text) == (False, "not tried: hold 14")
    lines = [(entry["stage"], entry["after"]) for entry in audit.entries()]
    assert (told, lines) == ([], [("sending", "o"), ("failed", "n")])


def test_one_that_exceeds_its_time_may_have_been_sent() -> None:
    with pytest.raises(BackendError) as caught:
        run(["/bin/sleep", "5"], 0.05)
    assert not isinstance(caught.value, NotSentError)
