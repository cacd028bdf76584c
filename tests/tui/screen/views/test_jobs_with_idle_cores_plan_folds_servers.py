"""Idle jobs, the plan that folds, quotas of those without jobs, a job's script and log, and other servers to go to."""

from __future__ import annotations

from pathlib import Path

from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import ScriptedBackend, a_job, with_job
from tui.config.production_servers_and_server_list import Site


def used(cput: str, walltime: str = "01:00:00") -> dict[str, str]:
    return {"resources_used.cput": cput, "resources_used.walltime": walltime, "resources_used.mem": "1gb"}


def a_wide_idle_job(backend: ScriptedBackend) -> None:
    backend.set_job("11.hpc1", **{"Resource_List.ncpus": "64", "Resource_List.mem": "64gb"})
    backend.use = {"11.hpc1": used("07:40:48"), "12.hpc1": used("03:52:00")}


async def test_an_idle_job_needs_attention_and_is_found_by_a_filter(backend: ScriptedBackend, audit: Path) -> None:
    a_wide_idle_job(backend)
    async with open_console(backend, audit, (140, 40)) as steered:
        assert "alice holds 64 cores at 12%: job 11" in steered.text
        await steered.press("5")
        (line,) = [line for line in steered.screen_lines if line.strip(" ▸").startswith("11 ")]
        assert "12%" in line and "idle · on v1" in line
        await steered.command("filter eff:<25 cores:>32")
        assert "jobs · 1 of " in steered.text
        await steered.command("filter resources_used.mem:>=1gb")
        assert "jobs · 2 of " in steered.text
        await steered.press("6")
        assert next(line for line in steered.screen_lines if line.strip(" ▸").startswith("alice ")).count("%") == 1


async def test_a_job_that_runs_past_its_walltime_needs_attention(backend: ScriptedBackend, audit: Path) -> None:
    backend.use = {"12.hpc1": used("03:52:00", "02:30:00")}
    async with open_console(backend, audit, (140, 40)) as steered:
        assert "12 runs past the walltime" in steered.text


async def test_a_job_that_does_not_come_to_its_end_needs_attention(backend: ScriptedBackend, audit: Path) -> None:
    backend.set_job("12.hpc1", job_state="E", stime="1000")
    async with open_console(backend, audit, (140, 40)) as steered:
        assert "12 is ending past the walltime: output or files are still being copied" in " ".join(
            steered.text.split()
        )


async def test_the_parts_of_the_plan_unfold_and_their_jobs_open_and_are_acted_on(
    backend: ScriptedBackend, audit: Path
) -> None:
    backend.server_status = with_job(backend.server_status, "18.hpc1", a_job("zoe", 100))
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.press("7", "g")
        (waiting,) = [line for line in steered.screen_lines if "can never start" in line]
        assert "▸ leaves waiting" in waiting and " 2 " in waiting
        while "leaves waiting" not in str(steered.main.view.cursor_name) or "never" not in str(
            steered.main.view.cursor_name
        ):
            await steered.press("j")
        assert set(steered.main.view.chosen) == {"14.hpc1", "18.hpc1"}, "a part stands for its jobs"
        await steered.press("enter")
        assert any("    18 " in line and "zoe" in line for line in steered.screen_lines)
        await steered.press("j", "enter")
        assert steered.main.view_name == "job"
        await steered.press("escape")
        assert steered.main.view_name == "plan"
        await steered.command("filter user:zoe")
        assert "plan · the next pass · 1 of " in steered.text


async def test_those_without_jobs_are_left_out_of_the_quotas_until_they_are_asked_for(
    backend: ScriptedBackend, audit: Path
) -> None:
    queue = backend.server_status.queues["workq"]
    limits = queue["max_run_res_soft.ncpus"] + ",[u:nobody_now=3]"
    backend.set_queue("workq", **{"max_run_res_soft.ncpus": limits})
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.press("6")
        assert "nobody_now" not in steered.text
        assert "1 without jobs, x" in steered.text
        await steered.press("x")
        assert "nobody_now" in steered.text
        await steered.press("x")
        assert "nobody_now" not in steered.text


async def test_the_script_and_the_log_of_a_job_are_looked_up_when_shown(backend: ScriptedBackend, audit: Path) -> None:
    backend.scripts["11.hpc1"] = "#!/bin/sh\n#PBS -N sim\n./run [/red]\n"
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.command("job 11")
        await steered.press("l", "l")
        await steered.until_shown("[script]", "./run [/red]")
        await steered.press("h", "h", "h")
        await steered.until_shown("[log]", "11.hpc1 of the last 2 days")
        await steered.command("job 12")
        await steered.press("l", "l")
        await steered.until_shown("printjob -s 12.hpc1: no permission")


async def test_the_console_goes_to_another_server_of_the_list(backend: ScriptedBackend, audit: Path) -> None:
    site = Site(servers=("hpc1", "hpc2", "hpc3"))
    async with open_console(backend, audit, (100, 30), site=site) as steered:
        await steered.command("server")
        assert "hpc2" in steered.text and "hpc3" in steered.text
        await steered.press("down", "enter")
        assert steered.console.return_value == "hpc3"


async def test_a_site_that_lists_no_other_server_says_how_to(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.command("server")
        assert 'servers = ["hpc1", "hpc2"]' in steered.text
        await steered.command("server -x")
        assert "one name of a host" in steered.text


async def test_all_rows_that_a_filter_leaves_are_marked_and_unmarked_at_once(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.press("5")
        await steered.command("filter user:carol")
        await steered.press("asterisk")
        assert set(steered.main.view.chosen) == {"14.hpc1", "15.hpc1"}
        assert "2 marked" in steered.text
        await steered.command("filter state:R")
        await steered.press("asterisk")
        assert len(steered.main.view.chosen) == 4, "marks of two filters add up"
        await steered.press("asterisk")
        assert set(steered.main.view.chosen) == {"14.hpc1", "15.hpc1"}
