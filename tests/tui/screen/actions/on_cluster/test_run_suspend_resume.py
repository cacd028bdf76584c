"""Starting, suspending and resuming a job from the screen: the effect on others is shown first, nonsense is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.console_under_test import open_console
from tests.tui.operate_on_screen import confirm, looking
from tests.tui.scripted_server import ScriptedBackend, a_job, changed


async def test_a_job_is_run_now_where_there_is_room_and_who_waits_longer_is_seen(
    backend: ScriptedBackend, audit: Path
) -> None:
    backend.set_vnode("v3", state="free")
    backend.server_status = changed(
        backend.server_status,
        # A job without a state in the answer: the room for another is found all the same.
        jobs={**backend.server_status.jobs, "20.hpc1": a_job("zoe", 8), "21.hpc1": {"Job_Owner": "zoe@hpc1"}},
    )
    async with looking(backend, audit, "run 20") as steered:
        assert "it starts whatever its place in line, its quota and the reservations of others" in steered.text
        assert "qrun -H '(v3:ncpus=8)' 20.hpc1" in steered.text
        assert "12 alice 4c is preempted for 13" in steered.text
        assert "16[0] dave 1c no longer starts" in steered.text
        await confirm(steered)
        await steered.until_shown("run 20: done, verified")
        assert backend.server_status.jobs["20.hpc1"]["job_state"] == "R"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            "run 13",
            "13 cannot start now: it needs 8 cores, 4 are idle; by the ends of running jobs there is room from 15:43",
        ),
        ("run 11", "run: 11 is not queued"),
        ("run 13 14", "run: one job at a time, this has 2"),
        ("run 16[]", "only single jobs are started"),
        ("resume 11", "resume: 11 is not suspended"),
        ("suspend 13", "suspend: 13 is not running"),
        ("suspend 16[]", "16[] is an array; name its subjobs"),
        ("walltime soon 11", "walltime 'soon' is no length of time"),
        ("walltime -3h 11", "allowed is up to ten years"),
        ("comment 13 text:a, b", "no commas, quotes, backslashes"),
    ],
)
async def test_what_makes_no_sense_for_a_run_is_reported(
    backend: ScriptedBackend, audit: Path, line: str, says: str
) -> None:
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.press("u")
        await steered.command(line)
        await steered.until_shown(says)
        assert backend.lines == []


async def test_a_suspended_job_is_resumed(backend: ScriptedBackend, audit: Path) -> None:
    backend.set_job("11.hpc1", job_state="S")
    async with looking(backend, audit, "resume 11") as steered:
        await confirm(steered)
        await steered.until_shown("resume 11: done, verified")
        assert backend.lines == ["qsig -s resume 11.hpc1"]
