"""What administrators do every day, by keys in a real terminal on a real server, on a small screen and a usual one."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path

import pytest

from tests.pbs.cluster import PbsCluster
from tests.pbs.console.console_on_testbed import apply, console, short, unlock, wait_for_stages
from tests.pbs.terminal import Terminal, joined

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux: apt-get install tmux")

SIZES = pytest.mark.parametrize(("cells", "lines"), [(120, 40), (80, 24)])


def open_menu_on(terminal: Terminal, job: str) -> None:
    """Go to the job's row, by a filter that leaves nothing else, and open the list of operations."""
    terminal.press("5")
    terminal.wait_for("jobs · ")
    terminal.press("/")
    terminal.type(f"job:={short(job)}")
    terminal.wait_for("jobs · 1 of")
    terminal.press("a")


def wait_for_row(terminal: Terminal, job: str, state: str) -> None:
    """Wait until alice's job has a row with this state; a small screen has no column for its queue."""
    row = re.compile(rf"\b{short(job)} +alice +(workq +)?{state} ")
    terminal.wait_until(row.search, f"job {short(job)} in state {state}")


@SIZES
def test_a_walltime_is_extended_and_taken_back(pbs: PbsCluster, state: Path, cells: int, lines: int) -> None:
    run = pbs.qsub("alice", select="3:ncpus=8", walltime="01:00:00")
    pbs.wait_for_state(run, "R")
    waiting = pbs.qsub("bob", select="3:ncpus=8", walltime="01:00:00")
    with console(pbs, state, cells=cells, lines=lines) as terminal:
        unlock(terminal)
        open_menu_on(terminal, run)
        terminal.press("w")
        terminal.wait_for("walltime")
        terminal.type("+2h")
        apply(terminal, "done, verified", f"qalter -l walltime=03:00:00 {run}", short(waiting))
        assert pbs.job(run)["Resource_List"]["walltime"] == "03:00:00"
        terminal.press("z")
        apply(terminal, "undone: ", f"qalter -l walltime=01:00:00 {run}")
        assert pbs.job(run)["Resource_List"]["walltime"] == "01:00:00"
        wait_for_stages(pbs, state, *["sending", "done"] * 2)


@SIZES
def test_a_job_is_run_now_before_all_others(pbs: PbsCluster, state: Path, cells: int, lines: int) -> None:
    pbs.qmgr("set sched default scheduling = False")
    first, last = pbs.qsub("bob", select="3:ncpus=8"), pbs.qsub("alice", select="1:ncpus=2")
    with console(pbs, state, cells=cells, lines=lines) as terminal:
        unlock(terminal)
        open_menu_on(terminal, last)
        terminal.press("n")
        apply(terminal, "done, verified", "qrun -H", "whatever its place in line")
        pbs.wait_for_state(last, "R")
        assert pbs.job_state(first) == "Q"


@SIZES
def test_a_run_is_suspended_and_goes_on(pbs: PbsCluster, state: Path, cells: int, lines: int) -> None:
    run = pbs.qsub("alice", select="1:ncpus=8")
    pbs.wait_for_state(run, "R")
    with console(pbs, state, cells=cells, lines=lines) as terminal:
        unlock(terminal)
        open_menu_on(terminal, run)
        terminal.press("s")
        apply(terminal, "done, verified", f"qsig -s suspend {run}")
        pbs.wait_for_state(run, "S")
        wait_for_row(terminal, run, "S")
        terminal.press("a", "u")
        # PBS leaves it to its scheduler when, so that the console may find the job still suspended.
        apply(terminal, "", f"qsig -s resume {run}", "as soon as there is room")
        terminal.wait_until(
            lambda shown: any(each in joined(shown) for each in ("done, verified", "is not done yet")),
            "what came of it",
        )
        pbs.wait_for_state(run, "R")
        wait_for_row(terminal, run, "R")


@SIZES
def test_a_vnode_is_taken_offline_with_a_reason_and_put_back(
    pbs: PbsCluster, state: Path, cells: int, lines: int
) -> None:
    name = pbs.mom_names[0]
    run = pbs.qsub("alice", select=f"1:ncpus=8:vnode={name}")
    pbs.wait_for_state(run, "R")
    with console(pbs, state, cells=cells, lines=lines) as terminal:
        unlock(terminal)
        terminal.press("3")
        terminal.wait_for("vnodes · 3", name)
        terminal.press("a", "o")
        terminal.wait_for("reason")
        terminal.type("fan 2 replaced tomorrow")
        apply(terminal, "done, verified", "state += offline", "offline by root: fan 2 replaced tomorrow", short(run))
        vnode = pbs.pbsnodes()[name]
        assert vnode["state"].split(",")[0] == "offline"
        assert vnode["comment"] == "offline by root: fan 2 replaced tomorrow"
        terminal.wait_for(f"{name} o offline, 1 left")
        terminal.press("1")
        terminal.wait_for(f"▲ {name} offline", "1 job left: root: fan 2")
        terminal.press("3")
        terminal.wait_for("vnodes · 3")
        terminal.press("a", "c")
        apply(terminal, "done, verified", "state -= offline")
        assert "comment" not in pbs.pbsnodes()[name]
        assert pbs.job_state(run) == "R"


@SIZES
def test_a_comment_is_written_for_the_owner(pbs: PbsCluster, state: Path, cells: int, lines: int) -> None:
    run = pbs.qsub("alice")
    pbs.wait_for_state(run, "R")
    with console(pbs, state, cells=cells, lines=lines) as terminal:
        unlock(terminal)
        open_menu_on(terminal, run)
        terminal.press("c")
        terminal.wait_for("comment")
        terminal.type("please save more often")
        apply(terminal, "done, verified", f"qalter -W 'comment=please save more often' {run}")
    assert pbs.job(run)["comment"] == "please save more often"


@SIZES
def test_a_reservation_has_a_view_while_there_is_one(pbs: PbsCluster, state: Path, cells: int, lines: int) -> None:
    with console(pbs, state, cells=cells, lines=lines) as terminal:
        assert "reservations" not in terminal.screen()
        begin = time.strftime("%Y%m%d%H%M", time.localtime(time.time() + 3600))
        asked = ["pbs_rsub", "-R", begin, "-D", "00:10:00", "-l", "select=1:ncpus=2"]
        name = pbs.run(asked, user="alice").demand_success().stdout.split()[0]
        try:
            terminal.press("0")
            terminal.wait_for("reservations · 1", short(name), "alice", "confirmed")
            terminal.press("1")
            # A small screen has room for the tab's key alone.
            terminal.wait_for("attention", "0 reservations" if cells > 80 else "8 audit 0")
        finally:
            pbs.run(["pbs_rdel", name]).demand_success()


def test_another_server_is_gone_to_without_leaving_and_it_is_locked(pbs: PbsCluster, state: Path) -> None:
    folder = state / "pbsteer"
    folder.mkdir()
    servers = json.dumps([pbs.spec.server.name, "nosuchhost"])
    (folder / "console.toml").write_text(f"servers = {servers}\n", encoding="ascii")
    with console(pbs, state, cells=80, lines=24) as terminal:
        unlock(terminal)
        terminal.command("server demo")
        terminal.wait_for("SIMULATED", "READ-ONLY", "attention")
        terminal.command("server")
        terminal.wait_for(pbs.spec.server.name, "nosuchhost")
        terminal.press("Escape")
        # A key that comes right after it would make another key of the two.
        terminal.wait_until(lambda shown: "go there" not in shown, "the list is gone")
        terminal.command("server nosuchhost")
        terminal.wait_for("nosuchhost", "AWAY")
        terminal.command(f"server {pbs.spec.server.name}")
        terminal.wait_for("READ-ONLY", "0 / 24")
        terminal.press("z")
        terminal.wait_for("nothing")
