"""The reader process: long answers cost what they are long, and no answer lasts longer than its time."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from hooks.pbs.server_status_type_and_attributes import LONGEST_TEXT, shorten_text
from tui.backends.interface.backend_protocol import BackendError
from tui.backends.reader_or_programs.start_and_ask_reader_process import TIMEOUT_S, Reader

REST = '{"rest": {"time_s": 1.0, "server": {}, "queues": {}, "resources": {}, "scheds": {}, "reservations": {}}}'
LONG = 48_000_000
"""Characters of one line. Copied anew with each piece that comes, it would take many times the reader's own limit."""


def a_reader(folder: Path, program: str, timeout_s: float) -> Reader:
    """One whose only command line is a program that answers so."""
    python = folder / "python"
    python.write_text(f"#!/bin/sh\nread question\n{program}\n")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return Reader([[str(python)]], {}, timeout_s)


def test_a_very_long_line_is_read_within_the_usual_time(tmp_path: Path) -> None:
    program = (
        """echo '{"anew": true}'; echo '{"keys": ["comment"]}'; printf '{"jobs": [[0, "1.s", "'\n"""
        f"""head -c {LONG} /dev/zero | tr '\\0' x; echo '"]]}}'; echo '{REST}'; read on"""
    )
    asked = a_reader(tmp_path, program, TIMEOUT_S)
    try:
        assert len(asked.server_status().jobs["1.s"]["comment"]) == LONG
    finally:
        asked.close()


def test_an_answer_that_never_ends_ends_with_its_time(tmp_path: Path) -> None:
    asked = a_reader(tmp_path, "while :; do echo '{\"jobs\": []}'; done", 0.3)
    with pytest.raises(BackendError, match=r"did not answer within 0\.3 s"):
        asked.server_status()


def test_free_texts_are_cut_and_chunks_are_not() -> None:
    long = "x" * (LONGEST_TEXT + 1)
    for name in ("Job_Name", "comment", "Resource_List.pbsteer_app", "Resource_List.software"):
        assert shorten_text(name, long) == "x" * (LONGEST_TEXT - 1) + "…"
        assert shorten_text(name, long[1:]) == long[1:]
    for name in ("Resource_List.select", "schedselect", "exec_vnode", "max_run_res_soft.ncpus", "estimated.site"):
        assert shorten_text(name, long) == long
