"""Choosing what to do to what: the menu of each view, values asked for one by one, names completed as they come."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.console_under_test import open_console
from tests.tui.operate_on_screen import look, undo
from tests.tui.scripted_server import ScriptedBackend, a_server_status, changed
from tui.screen.dialogs.operations_menu import ActMenu


async def test_the_menu_lists_what_can_be_done_and_why_not(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await steered.press("u", "5", "a")
        assert isinstance(steered.console.screen, ActMenu)
        for text in ("11 is running", "11 is not held", "delete jobs", "requeue", "move", "priority"):
            assert text in steered.text
        await steered.press("j", "j", "j", "j", "enter")
        await steered.until_shown("qrerun 11.hpc1")
        assert backend.lines == []
        await steered.press("escape", "a", "escape")
        assert backend.lines == []


@pytest.mark.parametrize(
    ("keys", "texts"),
    [
        (
            ["2", "a"],
            ["stop", "disable", "mode", "queue workq is started already", "takes new jobs already"],
        ),
        (["3", "a"], ["vnode v1", "offline", "drain", "v1 is not offline"]),
        (["4", "a"], ["vnode v1", "drain"]),
        (["5", "enter", "a"], ["requeue", "end runs"]),
        (["6", "a"], ["alice in workq", "change this quota", "change this priority"]),
    ],
)
async def test_every_view_of_things_has_a_menu(
    backend: ScriptedBackend, audit: Path, keys: list[str], texts: list[str]
) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await steered.press(*keys)
        await steered.until_shown(*texts)


async def test_the_menu_of_marked_rows_is_for_all_of_them(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await steered.press("u", "3", "space", "space", "a")
        assert "2 vnodes" in steered.text
        await steered.press("enter", "enter")
        await steered.until_shown("offline 2 vnodes", "set node v1 state += offline", "set node v2 state += offline")


async def test_an_overview_line_that_names_nothing_has_nothing_to_act_on(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("1", "g", "a")
        assert "act: works on a job, a vnode, a queue or a quota" in steered.text
        await steered.command("hold")
        assert "hold: which job? :hold JOB..." in steered.text
        await steered.press("3")
        await steered.command("hold")
        assert "hold: which job?" in steered.text


async def test_a_value_is_asked_for_where_none_was_typed_and_up_and_down_choose_one(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await steered.press("u", "5", "j", "j")
        await steered.command("move")
        assert "up and down: gpu  workq" in steered.text
        await steered.press("down", "enter")
        await steered.until_shown("qmove gpu 13.hpc1", "to queue  gpu")
        await steered.press("e")
        await steered.type("nosuch")
        assert "move: no queue 'nosuch'; the server has gpu, workq" in steered.text
        await steered.press("down", "enter", "a")
        await steered.until_shown("move 13 to gpu: done")


async def test_a_drain_shows_who_is_there_and_offers_to_requeue_them(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await steered.press("u", "3")
        await look(steered, "drain v1 v2")
        for text in ("wait: 2 jobs there, the last ends", "requeue: 2 jobs now, up to 6.0 core-hours", "11 alice 8c"):
            assert text in steered.text
        await steered.press("e", "down", "enter")
        await steered.until_shown("qrerun 11.hpc1")
        await steered.press("a")
        assert "type 4 and enter" in steered.text
        await steered.type("4")
        await steered.until_shown("drain 2 vnodes, requeue 2 jobs: 4 of 4 done")
        assert backend.server_status.vnodes["v1"]["comment"] == "pbsteer drain by root"
        await steered.until_shown("o draining")
        await undo(steered, "2")
        await steered.until_shown("undo: drain 2 vnodes, requeue 2 jobs: 2 of 2 done")
        assert backend.server_status.vnodes["v1"]["state"] == "free"


async def test_a_priority_is_changed_like_a_quota(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await steered.press("u", "6", "E")
        await steered.type("x")
        assert "priority 'x': allowed is a whole number" in steered.text
        await steered.press("ctrl+u")
        await steered.type("10")
        await steered.until_shown("set queue workq max_run_res_soft.user_priority += [u:alice=10]", "priority  10")
        await steered.press("a")
        await steered.until_shown("priority alice none → 10 in workq: done")
        await steered.command("user-priority workq g:chem 3")
        await steered.until_shown("[g:chem=3]")


async def test_the_command_line_completes_names_and_values(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        for typed, shown in (
            ("move g", "gpu"),
            ("move gpu 1", "11  12  13  14  16[]  15"),
            ("offline v", "v1  v2  v3"),
            ("mode workq ad", "advise"),
            ("drain re", "requeue"),
        ):
            await steered.press("colon")
            await steered.type(typed, "tab")
            assert shown in steered.text, typed
            await steered.press("escape")


async def test_a_picture_of_nothing_offers_nothing(audit: Path) -> None:
    empty = changed(a_server_status(), jobs={}, vnodes={})
    async with open_console(ScriptedBackend(empty), audit) as steered:
        for view in "345":
            await steered.press(view, "a")
            assert not isinstance(steered.console.screen, ActMenu)


async def test_a_letter_of_the_menu_opens_its_operation(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await steered.press("u", "5", "j", "j", "a")
        await steered.until_shown("13 bob · 8 cores · render", "h hold")
        await steered.press("h")
        await steered.until_shown("qhold -h o 13.hpc1")
        await steered.press("escape", "a", "w")
        await steered.type("3h")
        await steered.until_shown("qalter -l walltime=03:00:00 13.hpc1")


async def test_the_menu_asks_why_a_vnode_goes_offline_and_its_jobs_are_seen(
    backend: ScriptedBackend, audit: Path
) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await steered.press("u", "3", "a", "o")
        assert "reason, or nothing" in steered.text
        await steered.type("fan 2")
        await steered.until_shown("offline by root: fan 2", "1 job runs there and goes on", "11 alice 8c")
        await steered.press("a")
        await steered.until_shown("offline v1: done")
        await look(steered, "clear v1")
        assert "state -= offline, comment = " in steered.text


async def test_ssh_goes_to_the_host_of_a_vnode_or_of_a_job_and_never_takes_an_option_for_one(
    backend: ScriptedBackend, audit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.set_vnode("v1", **{"resources_available.host": "n1.hpc"})
    backend.set_vnode("v2", **{"resources_available.host": "-oProxyCommand=x"})
    run: list[tuple[str, ...]] = []
    async with open_console(backend, audit, (130, 40)) as steered:
        monkeypatch.setattr(steered.main, "run_outside", lambda argv: run.append(tuple(argv)))
        await steered.press("3", "S", "5", "S", "j", "S")
        assert run == [("ssh", "--", "n1.hpc")] * 2
        assert "ssh: '-oProxyCommand=x' is no name of a host" in steered.text
        await steered.press("j", "S")
        assert "ssh: 13 does not run" in steered.text


async def test_a_terminal_that_cannot_be_left_is_reported(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit, (130, 40)) as steered:
        await steered.press("3", "S")
        assert "ssh: this terminal cannot be left to another program" in steered.text
