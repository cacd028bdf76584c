"""Jumps from a row to what belongs to it, and the way back."""

from __future__ import annotations

from pathlib import Path

from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import ScriptedBackend, a_vnode, changed, running


async def test_from_a_user_to_the_jobs_to_their_vnodes_and_all_the_way_back(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("5", "slash")
        await steered.type("state:Q")
        await steered.press("6", "J")
        assert 'jobs · 2 of 6 · filter user:="alice"' in steered.text
        await steered.press("j", "V")
        assert 'vnodes · 1 of 3 · filter job:="12"' in steered.text
        assert "v2" in steered.text
        await steered.press("escape")
        assert 'filter user:="alice"' in steered.text
        assert "2 / 2" in steered.text, "the cursor is where it was"
        await steered.press("escape")
        assert steered.main.view_name == "quotas"
        await steered.press("left_square_bracket")
        assert "jobs · 3 of 6 · filter state:Q" in steered.text, "the filter from before the jump is back"
        await steered.press("right_square_bracket", "right_square_bracket", "right_square_bracket")
        assert steered.main.view_name == "vnodes"
        assert 'filter job:="12"' in steered.text
        await steered.press("right_square_bracket")
        assert steered.main.view_name == "vnodes", "there is nothing beyond"


async def test_what_is_typed_after_a_jump_is_dropped_before_one_goes_back(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("2", "J")
        await steered.command("filter carol")
        assert "filter carol" in steered.text
        await steered.press("escape")
        assert 'filter queue:="workq"' in steered.text
        await steered.press("escape")
        assert steered.main.view_name == "queues"
        await steered.press("5")
        assert "filter" not in steered.title


async def test_marked_jobs_lead_to_all_their_vnodes(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("5", "space", "space", "V")
        assert 'vnodes · 2 of 3 · filter job:="11"|"12"' in steered.text
        await steered.press("escape", "G", "space", "J")
        assert 'user:="alice"|"carol"' in steered.text


async def test_a_job_that_waits_has_no_vnodes(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("5", "j", "j", "V")
        assert steered.main.view_name == "jobs"
        assert "none of these jobs runs" in steered.text


async def test_a_vnode_leads_to_its_own_jobs_alone(backend: ScriptedBackend, audit: Path) -> None:
    backend.set_job("12.hpc1", exec_vnode="(v10:ncpus=4)")
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("3", "enter")
        assert 'jobs · 1 of 6 · filter vnode:="v1"' in steered.text, "v10 is another vnode"


def run_two_subjobs(backend: ScriptedBackend) -> None:
    """Of dave's array 16[] two subjobs run beyond their walltime of two hours, on v2 and v3."""
    status = backend.server_status
    subjobs = {"16[1].hpc1": running("dave", 1, "v2"), "16[2].hpc1": running("dave", 1, "v3")}
    vnodes = {**status.vnodes, "v3": a_vnode(8, 1, jobs="16[2].hpc1/0")}
    backend.server_status = changed(status, jobs={**status.jobs, **subjobs}, vnodes=vnodes)
    backend.set_job("16[].hpc1", job_state="B")
    figures = {"resources_used.cput": "03:00:00", "resources_used.walltime": "03:00:00"}
    backend.use = dict.fromkeys(subjobs, figures)


async def test_a_vnode_leads_to_the_subjobs_there(backend: ScriptedBackend, audit: Path) -> None:
    run_two_subjobs(backend)
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("3")
        await steered.put_cursor_on("v3")
        await steered.press("J")
        assert steered.main.view.table.keys == ["16[].hpc1", "16[2].hpc1"]  # type: ignore[attr-defined]


async def test_a_line_about_subjobs_leads_to_these(backend: ScriptedBackend, audit: Path) -> None:
    run_two_subjobs(backend)
    async with open_console(backend, audit, (140, 40)) as steered:
        assert "16[1] 16[2] run past the walltime" in steered.text
        await steered.press("g")
        while set(steered.main.view.chosen) != {"16[1].hpc1", "16[2].hpc1"}:
            await steered.press("j")
        await steered.press("enter")
        assert steered.main.view.table.keys == ["16[1].hpc1", "16[2].hpc1"]  # type: ignore[attr-defined]


async def test_a_queue_and_a_job_lead_to_the_quotas(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("2", "j", "Q")
        assert "quotas · gpu" in steered.text
        await steered.press("escape", "5", "j", "j", "Q")
        assert "quotas · workq" in steered.text
        assert any("▸bob" in line for line in steered.screen_lines)
        await steered.press("escape", "enter", "Q")
        assert any("▸bob" in line for line in steered.screen_lines), "also from the job's own page"
        await steered.press("escape")
        assert "13 bob" in steered.text


async def test_row_of_all_other_users_leads_nowhere(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("6", "slash")
        await steered.type("PBS_GENERIC")
        await steered.press("J")
        assert steered.main.view_name == "quotas"
        assert "stands for all others" in steered.text


async def test_a_page_without_rows_says_where_jumps_work(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        for key, name in (("J", "to-jobs"), ("V", "to-vnodes"), ("Q", "to-quotas")):
            await steered.press("1", "g", "right", key)
            assert f"{name}: " in steered.text
        await steered.press("6", "Q")
        assert "to-quotas: works on a job or a queue" in steered.text
