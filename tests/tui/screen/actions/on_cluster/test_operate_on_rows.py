"""Acting from the screen: each verb by menu and by command, confirmed, refused, undone, never on another target."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from tests.tui.console_under_test import open_console
from tests.tui.operate_on_screen import confirm, look, looking, stages, undo
from tests.tui.scripted_server import ScriptedBackend, a_job, changed, many_jobs
from tui.audit.audit_file import Actor, AuditLog
from tui.config.production_servers_and_server_list import Site
from tui.operations.confirmation.read_only_until_unlocked import UNLOCK_S
from tui.screen.dialogs.operation_dialog import OperationDialog

VERBS = {
    "hold 13": ("", "qhold -h o 13.hpc1", "hold 13: done, verified · z undoes it"),
    "release 15": ("", "qrls -h u 15.hpc1", "release 15: done, verified · z undoes it"),
    "delete 13": ("13", "qdel 13.hpc1", "delete 13: done, verified"),
    "requeue 11": ("11", "qrerun 11.hpc1", "requeue 11: done, verified"),
    "move gpu 13": ("", "qmove gpu 13.hpc1", "move 13 to gpu: done, verified · z undoes it"),
    "priority 7 13": ("", "qalter -p 7 13.hpc1", "priority of 13 0 → 7: done, verified · z undoes it"),
    "offline v2": ("", "qmgr -c 'set node v2 state += offline'", "offline v2: done, verified · z undoes it"),
    "offline v2 reason:fan 2, spare comes": (
        "",
        "qmgr -c 'set node v2 state += offline, comment = \"offline by root: fan 2, spare comes\"'",
        "offline v2: done, verified · z undoes it",
    ),
    "walltime +2h 11": (
        "",
        "qalter -l walltime=04:00:00 11.hpc1",
        "walltime of 11 02:00:00 → 04:00:00: done, verified · z undoes it",
    ),
    "suspend 11": ("", "qsig -s suspend 11.hpc1", "suspend 11: done, verified · z undoes it"),
    "comment 13 text:ask the owner": (
        "",
        "qalter -W 'comment=ask the owner' 13.hpc1",
        "comment on 13: done, verified",
    ),
    "clear v3": ("", "qmgr -c 'set node v3 state -= offline'", "clear v3: done, verified · z undoes it"),
    "drain v2": (
        "",
        "qmgr -c 'set node v2 state += offline, comment = \"pbsteer drain by root\"'",
        "drain v2: done, verified · z undoes it",
    ),
    "stop workq": ("", "qmgr -c 'set queue workq started = False'", "stop queue workq: done, verified · z undoes it"),
    "disable gpu": ("", "qmgr -c 'set queue gpu enabled = False'", "disable queue gpu: done, verified · z undoes it"),
    "mode workq advise": (
        "",
        "qmgr -c 'set queue workq resources_available.pbsteer_mode = advise'",
        "queue workq: drive → advise: done, verified · z undoes it",
    ),
}
UNDONE = [line for line in VERBS if not line.startswith(("delete", "requeue", "comment"))]


@pytest.mark.parametrize("line", VERBS)
async def test_a_verb_is_done_after_its_command_was_seen_and_confirmed(
    backend: ScriptedBackend, audit: Path, line: str
) -> None:
    typed, command, said = VERBS[line]
    async with looking(backend, audit, line) as steered:
        assert command in steered.text
        assert backend.lines == []
        await steered.press("a")
        if typed:
            assert backend.lines == []
            await steered.type(typed)
        await steered.until_shown(said)
        assert backend.lines == [command]
        assert stages(audit) == ["sending", "done"]
        assert ("z undoes it" in steered.text) == (line in UNDONE)


@pytest.mark.parametrize("line", UNDONE)
async def test_one_key_takes_a_verb_back(backend: ScriptedBackend, audit: Path, line: str) -> None:
    before = backend.server_status
    async with looking(backend, audit, line) as steered:
        await steered.press("a")
        await steered.until_shown("z undoes it")
        sent = len(backend.lines)
        await steered.press("z")
        assert len(backend.lines) == sent, "nothing is sent by one key"
        await steered.press("escape")
        await undo(steered)
        await steered.until_shown("undone: ")
        kinds = {
            "jobs": ("Hold_Types", "queue", "Priority", "Resource_List.walltime", "job_state"),
            "vnodes": ("state",),
            "queues": ("started", "enabled"),
        }
        for kind, names in kinds.items():
            for name, texts in getattr(before, kind).items():
                now = getattr(backend.server_status, kind)[name]
                assert [now.get(a) for a in names if a in texts] == [texts[a] for a in names if a in texts]
        assert backend.server_status.queues["workq"]["resources_available.pbsteer_mode"] == "drive"
        assert backend.server_status.vnodes["v2"].get("comment", "") == ""


@pytest.mark.parametrize("line", VERBS)
async def test_nothing_is_done_while_locked(backend: ScriptedBackend, audit: Path, line: str) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await look(steered, line)
        await steered.press("a")
        assert "read-only: u unlocks" in steered.text
        await steered.press("escape")
        assert backend.lines == []
        assert not audit.exists()


@pytest.mark.parametrize("line", VERBS)
async def test_what_pbs_says_to_a_user_without_rights_is_on_the_screen(audit: Path, line: str) -> None:
    backend = ScriptedBackend(refusal="Unauthorized Request")
    async with looking(backend, audit, line) as steered:
        await confirm(steered, VERBS[line][0])
        await steered.until_shown("PBS refused: Unauthorized Request")
        assert stages(audit) == ["sending", "failed"]
        assert "z undoes it" not in steered.text


async def test_the_dialog_unlocks_and_the_unlock_runs_out_in_it(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await look(steered, "delete 13")
        await steered.press("u")
        assert "a apply" in steered.text
        await steered.press("a")
        steered.elapsed_s += UNLOCK_S + 1
        await steered.type("13")
        assert "read-only: u unlocks" in steered.text
        assert backend.lines == []


@pytest.mark.parametrize("typed", ["12", "", "13.hpc1", "hpc1"])
async def test_what_is_typed_wrongly_does_nothing(backend: ScriptedBackend, audit: Path, typed: str) -> None:
    async with looking(backend, audit, "delete 13") as steered:
        await steered.press("a")
        assert "type 13 and enter to do it" in steered.text
        assert "type 13:" in steered.text, "what the field is for"
        await steered.type(typed)
        assert "that is not 13" in steered.text
        assert backend.lines == []
        await steered.press("escape")
        assert not isinstance(steered.console.screen, OperationDialog)


async def test_several_targets_are_confirmed_by_their_number(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await steered.press("u", "5", "j", "j", "space", "space")
        await look(steered, "hold")
        assert "hold 2 jobs" in steered.text
        await confirm(steered, "1")
        assert "that is not 2" in steered.text
        await steered.type("2")
        await steered.until_shown("hold 2 jobs: 2 of 2 done · z undoes it")
        assert backend.lines == ["qhold -h o 13.hpc1", "qhold -h o 14.hpc1"]
        await undo(steered, "2")
        await steered.until_shown("undo: hold 2 jobs: 2 of 2 done")
        assert backend.lines[2:] == ["qrls -h o 14.hpc1", "qrls -h o 13.hpc1"]


@pytest.mark.parametrize("server", ["hpc1", "HPC1", "*"])
async def test_a_production_server_is_typed_as_well(backend: ScriptedBackend, audit: Path, server: str) -> None:
    site = Site(frozenset({server.lower()}))
    async with open_console(backend, audit, (140, 40), site=site) as steered:
        assert "PRODUCTION" in steered.screen_lines[0]
        await steered.press("u")
        assert "READ-ONLY" in steered.screen_lines[0], "one key does not unlock it"
        assert "unlock hpc1, a production server, for five minutes?" in steered.text
        await steered.press("escape", "u", "y")
        assert "UNLOCKED" in steered.screen_lines[0]
        await look(steered, "hold 13 14")
        await confirm(steered, "2")
        assert backend.lines == []
        await steered.type("2 hpc1")
        await steered.until_shown("2 of 2 done")
        await look(steered, "quota workq alice 16")
        await confirm(steered, "hpc1")
        await steered.until_shown("alice 4 → 16 in workq: done")
        await undo(steered, "hpc1")
        await steered.until_shown("undone: alice 4 → 16 in workq: back at 4")


async def test_a_dialog_on_a_production_server_unlocks_after_a_yes(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (140, 40), site=Site(frozenset({"hpc1"}))) as steered:
        await look(steered, "hold 13")
        await steered.press("u", "n")
        assert "read-only: u unlocks" in steered.text
        await steered.press("u", "y")
        assert "a apply" in steered.text


async def test_a_confirmation_names_all_targets_and_what_is_lost(backend: ScriptedBackend, audit: Path) -> None:
    jobs = {f"{number}.hpc1": a_job("zoe", 1, name=f"sweep{number}") for number in range(100, 140)}
    backend.server_status = changed(backend.server_status, jobs={**backend.server_status.jobs, **jobs})
    async with looking(backend, audit, "delete 11 12 " + " ".join(map(str, range(100, 140)))) as steered:
        assert "42 jobs · 2 users · 12 cores in use now · up to 6.0 core-hours are lost" in steered.text
        assert re.search(r"11 +alice +sim +8c +ran 30 min +4\.0 core-h", steered.text)
        assert "and 34 more: below" in steered.text
        assert "sweep139" not in steered.text
        await steered.press("a", *["pagedown"] * 8)
        assert "sweep139" in steered.text, "they are read while the number is typed"
        await steered.type("42")
        await steered.until_shown("delete 42 jobs: 42 of 42 done")


async def test_targets_are_those_that_were_chosen_whatever_the_screen_does_meanwhile(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await steered.press("u", "5", "j", "j")
        await look(steered, "hold")
        jobs = {"9.hpc1": a_job("zoe", 1), **dict(reversed(list(backend.server_status.jobs.items())))}
        backend.server_status = changed(backend.server_status, jobs=jobs)
        await steered.repoll()
        steered.main.views["jobs"].sort_by("cores")  # type: ignore[attr-defined]
        await steered.press("a")
        await steered.until_shown("hold 13: done")
        assert backend.lines == ["qhold -h o 13.hpc1"]


async def test_a_target_that_vanished_meanwhile_is_not_touched(backend: ScriptedBackend, audit: Path) -> None:
    async with looking(backend, audit, "delete 13 14") as steered:
        backend.server_status = changed(
            backend.server_status, jobs={k: v for k, v in backend.server_status.jobs.items() if k != "13.hpc1"}
        )
        await confirm(steered, "2")
        await steered.until_shown("delete 2 jobs: 1 of 2 done", "delete 13: queued when you looked, gone now")
        assert backend.lines == ["qdel 14.hpc1"]


async def test_a_job_that_began_to_run_meanwhile_is_not_deleted(backend: ScriptedBackend, audit: Path) -> None:
    async with looking(backend, audit, "delete 13") as steered:
        backend.set_job("13.hpc1", job_state="R", stime="1790000000")
        await confirm(steered, "13")
        await steered.until_shown("queued when you looked, running since 1790000000 now")
        assert backend.lines == []
        assert stages(audit) == ["refused"]


async def test_of_a_deed_that_went_well_in_part_that_part_is_undone(backend: ScriptedBackend, audit: Path) -> None:
    async with looking(backend, audit, "hold 13 14") as steered:
        backend.set_job("14.hpc1", Hold_Types="s")
        await confirm(steered, "2")
        await steered.until_shown("hold 2 jobs: 1 of 2 done", "z undoes it")
        await undo(steered)
        await steered.until_shown("undone: hold 13, verified")
        assert backend.lines == ["qhold -h o 13.hpc1", "qrls -h o 13.hpc1"]
        await steered.press("z")
        await steered.until_shown("no change made from this console is left to undo")


async def test_a_server_that_goes_away_ends_the_deed_and_undo_goes_on_there(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with looking(backend, audit, "hold 13 14") as steered:
        await confirm(steered, "2")
        await steered.until_shown("2 of 2 done")

        def go_away_before_the_second() -> None:
            if backend.server_status.jobs["14.hpc1"]["Hold_Types"] == "n" and backend.reads > 6:
                backend.failure = "gone away"
                backend._demand_up()

        backend.before_read = go_away_before_the_second
        await undo(steered, "2")
        await steered.until(lambda: backend.failure and steered.main.runner.busy is None, "the end of the undo")
        assert backend.lines[2:] == ["qrls -h o 14.hpc1"]
        backend.failure, backend.before_read = "", lambda: None
        await undo(steered)
        await steered.until(lambda: backend.server_status.jobs["13.hpc1"]["Hold_Types"] == "n", "the rest of the undo")
        assert backend.lines[2:] == ["qrls -h o 14.hpc1", "qrls -h o 13.hpc1"]


async def test_what_cannot_be_undone_is_reported_and_the_deed_before_it_is_next(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with looking(backend, audit, "hold 14") as steered:
        await steered.press("a")
        await steered.until_shown("hold 14: done")
        await look(steered, "delete 13")
        await confirm(steered, "13")
        await steered.until_shown("delete 13: done")
        await steered.press("z")
        await steered.until_shown("delete 13 cannot be undone; z again undoes hold 14")
        assert backend.lines == ["qhold -h o 14.hpc1", "qdel 13.hpc1"]
        await undo(steered)
        await steered.until_shown("undone: hold 14, verified")


async def test_undo_needs_the_unlock_and_leaves_alone_what_others_changed(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with looking(backend, audit, "priority 7 13") as steered:
        await steered.press("a")
        await steered.until_shown("z undoes it")
        await steered.press("u", "z", "a")
        assert "read-only" in steered.text
        await steered.press("escape", "u")
        backend.set_job("13.hpc1", Priority="9")
        await undo(steered)
        await steered.until_shown("it was changed meanwhile")
        assert backend.server_status.jobs["13.hpc1"]["Priority"] == "9"


async def test_a_long_deed_is_stopped_between_two_commands(audit: Path) -> None:
    backend = ScriptedBackend(many_jobs(300))
    async with looking(backend, audit, "hold " + " ".join(str(100 + number) for number in range(300))) as steered:
        await steered.press("a")

        def stop_after_twenty() -> None:
            if len(backend.lines) == 20:
                steered.main.runner.halt()

        backend.before_read = stop_after_twenty
        await steered.type("300")
        await steered.until_shown("hold 300 jobs: 20 of 300 done", "stopped before: hold 120")
        assert len(backend.lines) == 20
        await steered.command("halt")
        assert "no operation is running" in steered.text


async def test_what_is_looked_at_while_another_is_done_can_be_applied_as_soon_as_that_has_ended(
    backend: ScriptedBackend, audit: Path
) -> None:
    answers = threading.Event()
    async with looking(backend, audit, "priority 7 13") as steered:

        def wait_for_answer() -> None:
            answers.wait(60)

        backend.before_read = wait_for_answer
        await steered.press("a")
        await look(steered, "hold 14")
        await steered.until_shown("still running: priority 7 for 13 (:halt stops it)")
        answers.set()
        await steered.until_shown("a apply")
        await steered.press("a")
        await steered.until_shown("hold 14: done, verified")
    assert backend.lines == ["qalter -p 7 13.hpc1", "qhold -h o 14.hpc1"]


# What was sent and never confirmed


async def test_the_next_console_tells_of_a_change_that_was_never_confirmed_once(
    backend: ScriptedBackend, audit: Path
) -> None:
    log = AuditLog(audit, Actor("root", "10.0.0.7"), "hpc1")
    log.write(1.0, "sending", "qdel 13.hpc1", before="queued", after="gone", reply="", change="a1")
    async with open_console(backend, audit, (160, 30)) as steered:
        await steered.until_shown("sent and never confirmed, check whether it was done: qdel 13.hpc1 on hpc1")
    assert stages(audit) == ["sending", "unconfirmed"]
    async with open_console(backend, audit, (160, 30)) as steered:
        assert "never confirmed" not in steered.text
