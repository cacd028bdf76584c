"""What the views show beyond the picture: passes, ended jobs, a job's story and output, changes, ranks, traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooks.pbs.custom_resources_on_hosts import READING
from hooks.quota_plan.published_quota_plan import PublishedPlan, ShownQuota
from hooks.quota_plan.quota_plan_files import QUOTA_PLAN_SHOWN
from hooks.store.state_files import State
from hooks.telemetry.host_reading_format import Amount, Heat, HostReading
from policy.quota_plan.planned_quotas import LimitKey, PlannedQuota
from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import (
    HOSTILE_NAMES,
    NOON_S,
    ScriptedBackend,
    ScriptedSimulation,
    a_job,
    running,
    with_job,
)
from tests.tui.written_journal_and_audit import a_pass, a_preemption, a_start, write_changes, write_journal
from tui.pages.cluster.needs_attention import attention
from tui.tables.columns_by_view.planned_job_outcome import outcome_of
from tui.text.screen_line import plain, safe
from tui.text.times_and_durations import day_and_time


@pytest.fixture
def backend(tmp_path: Path) -> ScriptedBackend:
    return ScriptedBackend(folder=tmp_path / "pbsteer", spool=tmp_path)


async def test_the_plan_goes_back_and_forth_through_the_passes(backend: ScriptedBackend, audit: Path) -> None:
    write_journal(
        backend.folder,
        a_pass(30, preempts=[a_preemption("12.hpc1", "13.hpc1", "preempted for 13.hpc1: over quota")]),
        a_pass(15, starts=[a_start("13.hpc1")], started=["13.hpc1"]),
    )
    async with open_console(backend, audit, (120, 40)) as steered:
        await steered.press("7")
        assert "plan · the next pass, ← the last ones" in steered.text
        await steered.press("left")
        assert "1 of 2 passes back" in steered.text
        assert "13 bob 8c on v1 · started" in steered.text
        await steered.press("left", "left", "h")
        assert "2 of 2 passes back" in steered.text
        assert "12 alice 4c for 13 · preempted for 13.hpc1: over quota" in steered.text
        write_journal(backend.folder, a_pass(1))
        await steered.repoll()
        assert "3 of 3 passes back" in steered.text, "the pass that is shown stays while others come"
        await steered.press("l", "l", "right", "right")
        assert "plan · the next pass" in steered.text


async def test_what_observing_would_have_done_is_on_the_plan_and_the_overview(
    backend: ScriptedBackend, audit: Path
) -> None:
    would = {"since_s": NOON_S - 3600, "starts": 1, "preempts": 0}
    watching = {"acted": [], "modes": {"workq": "observe"}, "would": would}
    write_journal(backend.folder, a_pass(9, starts=[a_start("13.hpc1")], **watching))
    async with open_console(backend, audit, (120, 40)) as steered:
        assert "1 job would have been started, 0 preempted in workq" in steered.text
        await steered.press("7")
        assert "1 job would have been started, 0 preempted in workq" in steered.text


async def test_a_journal_that_may_not_be_read_is_reported_on_the_plan(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (140, 40)) as steered:
        await steered.press("7")
        assert "no pass has been made on this host yet: " in steered.text


async def test_hooks_that_fail_or_stopped_need_attention(backend: ScriptedBackend, audit: Path) -> None:
    write_journal(
        backend.folder,
        a_pass(600, failures=["cannot start 13.hpc1: \x1b[2J"], notes=["queue workq is not driven: peer_queue is set"]),
    )
    async with open_console(backend, audit, (120, 40)) as steered:
        assert "no pass of the hooks for 10 min" in steered.text
        assert "cannot start 13.hpc1: ␛[2J" in steered.text
        assert "queue workq is not driven: peer_queue is set" in steered.text


async def test_vnodes_that_are_down_say_since_when_and_why(backend: ScriptedBackend, audit: Path) -> None:
    backend.set_vnode("v3", last_state_change_time=str(int(NOON_S - 1200)), comment="fan 2")
    async with open_console(backend, audit, (160, 40)) as steered:
        assert "v3 offline since " in steered.text
        assert ": fan 2" in steered.text
        await steered.press("3")
        assert "not up since" in steered.text
        await steered.press("4", "l", "l")
        assert "not up since " in steered.text


async def test_what_changed_is_counted_and_told(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 40)) as steered:
        assert "no job was submitted, started or ended" in steered.text
        backend.server_status = with_job(backend.server_status, "13.hpc1", running("bob", 8, "v1"))
        backend.set_vnode("v2", state="down")
        await steered.repoll()
        assert "jobs 1 started" in steered.text
        assert "v2 down" in steered.text


async def test_users_over_quota_with_the_jobs_that_may_be_preempted(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 40)) as steered:
        assert "over 8" in next(line for line in steered.screen_lines if " alice " in line)
        cluster = steered.main.known_cluster()
        told = [plain(line) for line in attention(cluster)]
        assert "alice 12 of 4 in workq, 2 of 2 running jobs preemptible" in told, "as pbsteer status says"


async def test_jobs_that_ended_are_asked_for_and_left_out_again(backend: ScriptedBackend, audit: Path) -> None:
    backend.ended = {
        "9.hpc1": running("erin", 4, "v2", job_state="F", Exit_status="1", mtime=str(int(NOON_S - 600)), name="old"),
        "8.hpc1": a_job("erin", 4, "F", mtime=str(int(NOON_S - 60))),
    }
    for job in backend.ended.values():
        job["job_state"] = "F"
    async with open_console(backend, audit, (160, 40)) as steered:
        await steered.press("5")
        assert "erin" not in steered.text
        await steered.press("F")
        await steered.until_shown("jobs, 2 of them ended · 17 in 8 lines")
        lines = [line for line in steered.screen_lines if " erin " in line]
        assert "deleted" in lines[0], "the one that ended last comes first"
        assert ", exit 1 on v2" in lines[1]
        assert " 20 min " in lines[1], "how long it ran"
        await steered.press("G", "enter")
        assert "job 9" in steered.text
        await steered.until_shown("exit 1 on v2", "no pass has been made on this host yet")
        await steered.press("escape", "F")
        await steered.until_shown("jobs · 15 in 6 lines")


async def test_a_server_without_history_says_so_and_shows_the_rest(backend: ScriptedBackend, audit: Path) -> None:
    backend.history_problem = "PBS is not configured to maintain job history"
    async with open_console(backend, audit, (120, 40)) as steered:
        await steered.press("5", "F")
        await steered.until_shown("jobs, ended: PBS is not configured to maintain job history · 15 in 6 lines")


async def test_an_array_unfolds_into_its_running_subjobs_and_folds_again(backend: ScriptedBackend, audit: Path) -> None:
    backend.server_status = with_job(backend.server_status, "16[3].hpc1", running("dave", 1, "v2"))
    backend.server_status = with_job(backend.server_status, "16[4].hpc1", running("dave", 1, "v2"))
    async with open_console(backend, audit, (120, 40)) as steered:
        await steered.command("jobs")
        await steered.press("x")
        assert "11.hpc1 is no array" in steered.text
        await steered.press("slash")
        await steered.type("user:dave")
        assert "16[3]" not in steered.text
        await steered.press("x")
        assert "16[3]" in steered.text
        assert "16[4]" in steered.text
        await steered.press("j", "x")
        assert "16[3]" not in steered.text
        assert "▸16[]" in steered.text


async def test_one_job_tells_its_story_and_the_end_of_its_output(
    backend: ScriptedBackend, audit: Path, tmp_path: Path
) -> None:
    write_journal(
        backend.folder,
        a_pass(900, starts=[a_start("12.hpc1")], started=["12.hpc1"]),
        a_pass(600, preempts=[a_preemption("12.hpc1", "13.hpc1", "preempted for 13.hpc1: over quota")]),
        a_pass(300, starts=[a_start("12.hpc1", "v2")], started=["12.hpc1"]),
    )
    (tmp_path / "12.hpc1.OU").write_text("step 1\n\x1b]0;owned\x07step 2 [/red]\n")
    backend.set_job("12.hpc1", Output_Path="v2:/home/alice/post.o12")
    async with open_console(backend, audit, (120, 60)) as steered:
        await steered.command("job 12")
        await steered.until_shown("history, by the journal", "started on v2")
        shown = steered.text[steered.text.index("history, by the journal") :]
        assert shown.index("started on v2") < shown.index("preempted for 13.hpc1") < shown.index("started on v1")
        assert "step 1" in shown
        assert "␛]0;owned␇step 2 [/red]" in shown
        await steered.command("job 13")
        assert "step 1" not in steered.text
        await steered.until_shown("the server does not say where its output is")


async def test_a_job_that_goes_while_it_is_looked_at_keeps_its_page(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 60)) as steered:
        await steered.command("job 12")
        await steered.until_shown("history, by the journal")
        backend.ended = {"12.hpc1": {**backend.server_status.jobs["12.hpc1"], "job_state": "F", "Exit_status": "0"}}
        jobs = {job: texts for job, texts in backend.server_status.jobs.items() if job != "12.hpc1"}
        backend.server_status = backend.server_status.__class__(**{**backend.server_status.__dict__, "jobs": jobs})
        await steered.repoll()
        await steered.until_shown("12 alice", "exit 0 on v2")


async def test_the_audit_shows_each_change_once_and_what_was_never_confirmed(
    backend: ScriptedBackend, audit: Path
) -> None:
    write_changes(audit, "done", "refused", "sending")
    async with open_console(backend, audit, (200, 40)) as steered:
        await steered.press("8")
        await steered.until_shown("audit · 1 never confirmed · 3")
        lines = [line for line in steered.screen_lines if "qmgr -c" in line]
        assert "! unconfirmed" in lines[0]
        assert "32 → 64: Unauthorized" in lines[1]
        assert "10.0.0.7 port 50022" in lines[2]
        await steered.press("slash")
        await steered.type("!stage:done command:carol")
        assert "2 of 3" in steered.text


async def test_an_audit_file_that_cannot_be_read_is_reported(backend: ScriptedBackend, audit: Path) -> None:
    audit.mkdir()
    async with open_console(backend, audit, (160, 30)) as steered:
        await steered.press("8")
        await steered.until_shown("audit.jsonl: Is a directory")


async def test_the_grid_names_readings_and_the_rank_for_a_mode(backend: ScriptedBackend, audit: Path) -> None:
    reading = HostReading(NOON_S - 20, 0.5, Amount(32768, 65536), Amount(900, 1000), Heat(61, 95))
    backend.set_vnode("v1", **{f"resources_available.{READING}": reading.show()})
    backend.set_vnode("v2", **{"resources_available.host": "another"})
    async with open_console(backend, audit, (160, 40)) as steered:
        await steered.press("4")
        assert "read 20 s ago: 61 °C of 95, processors 50% idle, 32 GB really free, 900 Mbit/s free" in steered.text
        await steered.command("rank stability")
        assert "rank 1 of 3 by stability, 0." in steered.text
        await steered.press("l")
        assert "no readings" in steered.text
        assert "of 3 by stability, no reading" in steered.text
        await steered.command("rank none")
        assert "by stability" not in steered.text
        await steered.command("rank speed")
        assert "rank 'speed': there are none, composite" in steered.text
        await steered.press("M")
        assert "vnodes ranked by composite" in steered.text


async def test_groups_and_projects_stand_beside_their_quotas_too(backend: ScriptedBackend, audit: Path) -> None:
    backend.set_queue("workq", **{"max_run_res_soft.ncpus": "[g:users=10],[p:PBS_GENERIC=6],[u:alice=4]"})
    backend.set_job("12.hpc1", project="bridge")
    async with open_console(backend, audit, (120, 40)) as steered:
        await steered.press("6")
        lines = {line.split()[0].lstrip("▸"): line for line in steered.table[1:] if line.strip()}
        assert "over 2" in lines["g:users"]
        assert "free 2" in lines["p:bridge"]


@pytest.mark.parametrize("cells", [80, 120])
async def test_planned_quotas_stand_beside_the_present_ones(backend: ScriptedBackend, audit: Path, cells: int) -> None:
    limit = LimitKey("workq", "ncpus", ("u", "zoe"))
    planned = (
        ShownQuota(PlannedQuota(1, limit, 64, NOON_S + 3600, NOON_S + 7200), "planned"),
        ShownQuota(PlannedQuota(2, limit._replace(entity=("u", "alice")), 9, NOON_S - 60, NOON_S + 7200), "in force"),
    )
    backend.folder.mkdir()
    State(backend.folder).publish(QUOTA_PLAN_SHOWN, PublishedPlan(planned).to_data(), shared=True)
    begin, end = (day_and_time(NOON_S + later_s, 0) for later_s in (3600, 7200))
    async with open_console(backend, audit, (cells, 30)) as steered:
        await steered.press("6")
        lines = {line.split()[0].lstrip("▸"): line for line in steered.table[1:] if line.strip()}
        assert f"until {end}" in lines["alice"]
        assert f"64 {begin}" in lines["zoe"]
        assert (f"64 {begin} – {end}" in lines["zoe"]) == (cells == 120)
        assert ("2 planned" in steered.text) == (cells == 120)


@pytest.mark.slow
async def test_a_trace_is_loaded_and_one_that_cannot_be_is_reported(audit: Path, tmp_path: Path) -> None:
    simulation = ScriptedSimulation()
    trace = tmp_path / "two words.swf"
    trace.touch()
    async with open_console(simulation, audit, (160, 30)) as steered:
        await steered.command(f"load {tmp_path}/missing.swf")
        await steered.until_shown("missing.swf: No such file or directory")
        await steered.command(f"load {trace} 4x8")
        await steered.until_shown("loaded two words.swf: its jobs arrive from now on")
        assert simulation.loaded == [("two words.swf", "4x8")]


async def test_a_real_server_loads_no_trace(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (120, 30)) as steered:
        await steered.command("load x.swf")
        assert "works on a simulated cluster only" in steered.text


@pytest.mark.parametrize("hostile", HOSTILE_NAMES[:-1])
async def test_hostile_texts_are_data_in_the_journal_the_audit_file_and_the_output(
    backend: ScriptedBackend, audit: Path, tmp_path: Path, hostile: str
) -> None:
    write_journal(backend.folder, a_pass(60, starts=[a_start("12.hpc1", user=hostile, why=hostile)], notes=[hostile]))
    write_changes(audit, "done", command=hostile)
    (tmp_path / "12.hpc1.OU").write_text(hostile + "\n")
    backend.set_job("12.hpc1", Output_Path=f"v2:{hostile}")
    backend.set_vnode("v3", comment=hostile)
    async with open_console(backend, audit, (200, 60)) as steered:
        for keys in (("1",), ("7", "left"), ("8",), ("4", "l", "l"), ("3",)):
            await steered.press(*keys)
            assert "\x1b" not in steered.text.replace("\n", "")
        await steered.press("7")
        assert safe(hostile) in steered.text
        await steered.command("job 12")
        await steered.until_shown("output")
        assert not any(ord(character) < 32 for character in steered.text.replace("\n", ""))


async def test_the_job_under_the_cursor_is_shown_at_length_below_the_table(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (80, 24)) as steered:
        await steered.press("5", "G")
        cursor = steered.main.view.cursor_name
        assert cursor is not None
        whole = plain(outcome_of(steered.main.cluster, cursor)) if steered.main.cluster else ""
        row = next(line for line in steered.screen_lines if line.startswith(" ▸"))
        assert whole not in row, "a reason that does not fit into its row"
        assert whole in " ".join(" ".join(steered.screen_lines[-4:]).split())
        await steered.press("g")
        assert "ends " in " ".join(steered.screen_lines[-4:-1])
        assert "at the latest" in " ".join(steered.screen_lines[-4:])
        await steered.pilot.resize_terminal(60, 12)
        await steered.until(lambda: "at the latest" not in steered.text, "a table that has all the lines")


async def test_the_change_under_the_cursor_is_shown_with_its_whole_command(
    backend: ScriptedBackend, audit: Path
) -> None:
    write_changes(audit, "done")
    async with open_console(backend, audit, (80, 24)) as steered:
        await steered.press("8")
        await steered.until_shown("audit · ")
        command = steered.main.view.cursor_name
        assert command is not None
        assert command not in next(line for line in steered.screen_lines if line.startswith(" ▸"))
        assert command in " ".join(" ".join(steered.screen_lines[-4:]).split())


async def test_the_grid_shows_who_has_most_of_each_vnode_and_again_how_full_it_is(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (140, 30)) as steered:
        await steered.press("5", "w")
        assert "who: works in the grid" in steered.text
        await steered.press("4", "w")
        await steered.until_shown("user with most cores: A alice 12")
        assert "▐ v1   A▌ v2   A  v3 off" in steered.text
        assert "A alice 8" in [line.strip() for line in steered.screen_lines], "who is on the vnode under the cursor"
        await steered.press("w")
        await steered.until_shown("by fill · cores in use")
        assert "▐ v1   8▌" in steered.text
