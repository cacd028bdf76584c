"""The console in a real terminal on a real server: what an administrator sees and types, and what PBS then says.

Each test types keys into a tmux, reads its screen, and asks PBS itself, by its own programs, whether what the screen
says is so.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pbs.cluster import PbsCluster
from tests.pbs.console.console_on_testbed import (
    CONSOLE,
    apply,
    audit,
    console,
    short,
    stages,
    unlock,
    wait_for_stages,
)
from tests.pbs.terminal import PATIENCE_S, Terminal, joined

SLOW_HOOK = "slow_alter"
"""A hook of the site's own, during which the server answers no request: for so long a change is under way."""
BEGUN = "alteration_begun"
"""The file that this hook leaves, in the console's folder."""

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux: apt-get install tmux")


def wait_for_change_under_way(pbs: PbsCluster, state: Path) -> None:
    """Wait until the server has begun to alter a job, in :func:`slow_alter`."""
    pbs.wait_until((state / BEGUN).exists, PATIENCE_S, "a change under way")
    assert stages(state) == ["sending"]


def test_each_view_shows_the_cluster(pbs: PbsCluster, state: Path) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=4],[u:bob=16]'")
    run, waiting = pbs.qsub("alice", select="1:ncpus=6"), pbs.qsub("bob", select="1:ncpus=500")
    pbs.wait_for_state(run, "R")
    with console(pbs, state) as terminal:
        assert "READ-ONLY" in terminal.wait_for("6 / 24", "R 1 Q 1 H 0", "alice workq 6", "over 2")
        seen: dict[str, tuple[str, ...]] = {
            "2": ("queues · 1", "workq yes observe 1 1"),
            "3": ("vnodes · 3", *pbs.mom_names),
            "4": ("3 vnodes by fill", f"{pbs.mom_names[0]} · "),
            "5": ("jobs · 2", f"{short(run)} alice workq R 6", f"{short(waiting)} bob workq Q 500"),
            "6": ("quotas · workq", "over 2", "free 16"),
            "7": ("plan · the next pass", "leaves waiting 1 500 can never start"),
            "8": ("audit · 0",),
            "1": ("6 / 24",),
        }
        for key, texts in seen.items():
            terminal.press(key)
            terminal.wait_for(*texts)
        terminal.command(f"job {short(waiting)}")
        terminal.wait_for(f"{short(waiting)} bob · workq · 500 cores", "another request")
        terminal.press("q")
        terminal.wait_until(lambda _: terminal.has_ended(), "the end of the console")
    assert audit(state) == []


def test_a_filter_leaves_what_it_names(pbs: PbsCluster, state: Path) -> None:
    pbs.qmgr("set sched default scheduling = False")
    of_alice, of_bob = pbs.qsub("alice", select="1:ncpus=3"), pbs.qsub("bob", select="1:ncpus=2")
    with console(pbs, state) as terminal:
        terminal.press("5")
        terminal.wait_for(f"{short(of_alice)} alice", f"{short(of_bob)} bob")
        terminal.press("/")
        terminal.type("user:bob ncpus:<3")
        shown = joined(terminal.wait_for("filter user:bob", f"{short(of_bob)} bob"))
        assert f"{short(of_alice)} alice" not in shown
        terminal.press("Escape")
        terminal.wait_for(f"{short(of_alice)} alice")


def test_a_quota_is_changed_after_its_preview_and_taken_back(pbs: PbsCluster, state: Path) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=24],[u:bob=16]'")
    for _ in range(3):
        pbs.wait_for_state(pbs.qsub("alice", select="1:ncpus=8"), "R")
    waiting = pbs.qsub("bob", select="1:ncpus=8")
    with console(pbs, state) as terminal:
        terminal.command("quota workq alice 16")
        terminal.wait_for("max_run_res_soft.ncpus += [u:alice=16]", "read-only")
        assert "[u:alice=24]" in pbs.qmgr("print queue workq"), "a change that was only looked at"
        terminal.press("u")
        apply(
            terminal,
            "done, verified",
            "in the next pass",
            f"for {short(waiting)}",
            f"{short(waiting)} bob 8c would start",
            "in observe",
        )
        assert "[u:alice=16]" in pbs.qmgr("print queue workq")
        terminal.press("z")
        apply(terminal, "undone: ", "+= [u:alice=24]")
        assert "[u:alice=24]" in pbs.qmgr("print queue workq")
        terminal.press("8")
        terminal.wait_for("audit · 2", "16 → 24", "24 → 16")
    sending, done, *_ = audit(state)
    assert stages(state) == ["sending", "done"] * 2
    assert (sending["change"], sending["user"]) == (done["change"], "root")
    assert done["command"] == "qmgr -c 'set queue workq max_run_res_soft.ncpus += [u:alice=16]'"
    assert (done["before"], done["after"]) == ("24", "16")


def test_a_job_is_held_and_released_by_undo(pbs: PbsCluster, state: Path) -> None:
    job = pbs.qsub("alice", select="1:ncpus=500")
    with console(pbs, state) as terminal:
        unlock(terminal)
        terminal.press("5")
        terminal.wait_for(f"{short(job)} alice workq Q")
        terminal.command(f"hold {short(job)}")
        apply(terminal, "done, verified", f"qhold -h o {job}")
        assert pbs.job(job)["Hold_Types"] == "o"
        terminal.wait_for(f"{short(job)} alice workq H")
        terminal.press("z")
        apply(terminal, f"{short(job)} alice workq Q", f"qrls -h o {job}")
        assert pbs.job(job)["Hold_Types"] == "n"
        terminal.command(f"hold {short(job)}")
        apply(terminal, f"{short(job)} alice workq H", f"qhold -h o {job}")
        terminal.command(f"release {short(job)}")
        apply(terminal, f"{short(job)} alice workq Q", f"qrls -h o {job}")
        wait_for_stages(pbs, state, *["sending", "done"] * 4)
    assert pbs.job(job)["Hold_Types"] == "n"


def test_a_vnode_is_drained_and_its_jobs_requeued_once_that_is_typed(pbs: PbsCluster, state: Path) -> None:
    name = pbs.mom_names[0]
    job = pbs.qsub("alice", select=f"1:ncpus=8:vnode={name}", walltime="01:00:00")
    pbs.wait_for_state(job, "R")
    with console(pbs, state) as terminal:
        unlock(terminal)
        terminal.command(f"drain requeue {name}")
        terminal.wait_for(f"drain vnode {name}", "requeue: 1 job now", f"{short(job)} alice", "core-h", "a apply")
        terminal.press("a")
        terminal.wait_for("type 2 and")
        terminal.type("1")
        terminal.wait_for("that is not 2")
        assert pbs.pbsnodes()[name]["state"] == "job-busy"
        terminal.type("2")
        terminal.wait_for("2 of 2 done")
        pbs.wait_for_state(job, "Q")
        vnode = pbs.pbsnodes()[name]
        assert (vnode["state"], vnode["comment"]) == ("offline", "pbsteer drain by root")
        terminal.press("3")
        terminal.wait_for(f"{name} o offline")
    wait_for_stages(pbs, state, *["sending", "done"] * 2)


def test_a_user_without_rights_is_told_what_pbs_said(pbs: PbsCluster, state: Path) -> None:
    pbs.qmgr("set queue workq max_run_res_soft.ncpus = '[u:alice=4]'")
    job = pbs.qsub("bob", select="1:ncpus=500")
    with console(pbs, state, before=as_user(pbs, "alice")) as terminal:
        unlock(terminal)
        terminal.command("quota workq alice 400")
        apply(terminal, "PBS refused: ", "[u:alice=400]")
        terminal.wait_for("nauthorized")
        terminal.command(f"hold {short(job)}")
        apply(terminal, "nauthorized", f"qhold -h o {job}")
        wait_for_stages(pbs, state, *["sending", "failed"] * 2)
    assert "[u:alice=4]" in pbs.qmgr("print queue workq")
    assert pbs.job_state(job) == "Q"
    assert {entry["user"] for entry in audit(state)} == {"alice"}
    assert (state / "pbsteer" / "audit.jsonl").stat().st_uid == int(pbs.run(["id", "-u", "alice"]).stdout)


def as_user(pbs: PbsCluster, user: str) -> list[str]:
    """Words before a command that make it this user's, on PBS's word too; it may still read what root may read, since
    the tests' Python can be where no other user looks."""
    uid, gid = (pbs.run(["id", option, user]).demand_success().stdout.strip() for option in ("-u", "-g"))
    home = pbs.testbed.home(user)
    reading = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
    return [
        "env", f"HOME={home}", f"USER={user}", f"LOGNAME={user}",
        "setpriv", "--reuid", uid, "--regid", gid, "--init-groups", *reading, "--",
    ]  # fmt: skip


def test_a_server_that_goes_away_leaves_its_last_picture_and_comes_back_by_itself(pbs: PbsCluster, state: Path) -> None:
    job = pbs.qsub("alice", select="1:ncpus=500")
    with console(pbs, state) as terminal:
        terminal.press("5")
        terminal.wait_for(f"{short(job)} alice workq Q")
        fresh = fresh_colours(terminal, job)
        pbs.stop_server()
        try:
            terminal.wait_for("AWAY, seen", "trying again")
            assert re.search(rf"{short(job)} +alice +workq", terminal.screen()), "the last picture stays"
            terminal.wait_until(lambda _: colours(terminal, job) not in (set(), fresh), "the last picture in grey")
            terminal.wait_until(lambda shown: seen_s(shown) > 2, "an age that grows")
        finally:
            pbs.start_server()
        terminal.wait_until(lambda shown: "AWAY" not in shown and "READ-ONLY" in shown, "the server again")
        terminal.wait_until(lambda _: colours(terminal, job) == fresh, "a fresh picture")
        terminal.wait_for("the server answers again")
        later = pbs.qsub("bob", select="1:ncpus=500")
        terminal.wait_for(f"{short(later)} bob workq Q")


def test_a_server_that_is_killed_while_it_takes_a_change_leaves_it_unconfirmed(
    pbs: PbsCluster, state: Path, slow_alter: None
) -> None:
    job = pbs.qsub("alice", select="1:ncpus=500")
    with console(pbs, state) as terminal:
        terminal.press("5")
        terminal.wait_for(f"{short(job)} alice workq Q")
        fresh = fresh_colours(terminal, job)
        unlock(terminal)
        terminal.command(f"priority 7 {short(job)}")
        terminal.wait_for(f"qalter -p 7 {job}", "a apply")
        terminal.press("a")
        wait_for_change_under_way(pbs, state)
        pbs.kill_server()
        try:
            terminal.wait_for("AWAY, seen")
            assert re.search(rf"{short(job)} +alice +workq", terminal.screen()), "the last picture stays"
            terminal.wait_until(lambda _: colours(terminal, job) not in (set(), fresh), "the last picture in grey")
            terminal.wait_until(lambda shown: seen_s(shown) > 2, "an age that grows")
            wait_for_stages(pbs, state, "sending", "unconfirmed")
        finally:
            pbs.start_server()
        terminal.wait_until(lambda shown: "AWAY" not in shown, "the server again")
        terminal.wait_until(lambda _: colours(terminal, job) == fresh, "a fresh picture")
        terminal.press("8")
        terminal.wait_for("1 never confirmed", "! unconfirmed", f"qalter -p 7 {job}", "0 → unknown")
    sending, lost = audit(state)
    assert (sending["command"], sending["before"], sending["after"]) == (f"qalter -p 7 {job}", "0", "7")
    assert (lost["after"], lost["change"]) == ("unknown", sending["change"])
    assert "not confirmed" in lost["reply"]
    assert pbs.job(job)["Priority"] == 0, "the server was killed before it did it"


def colours(terminal: Terminal, job: str) -> set[str]:
    """The colours and styles in the row of a job of alice's. The number alone would not name it: the tabs begin with
    ``1 overview``, which job 1 would be taken for."""
    for line in terminal.painted().splitlines():
        plain = re.sub(r"\x1b\[[0-9;:]*m", "", line)
        if re.match(rf"[ ▸>]*{short(job)} +alice ", plain):
            return set(re.findall(r"\x1b\[([0-9;:]+)m", line))
    return set()


def fresh_colours(terminal: Terminal, job: str) -> set[str]:
    """The same while the server answers, once the picture has its plan, without which a reason is missing. On a busy
    machine the server may have missed a poll already."""
    found: list[set[str]] = []

    def are_fresh(shown: str) -> bool:
        found.append(colours(terminal, job))
        return bool(found[-1]) and "more than the vnodes" in shown and "AWAY" not in shown + terminal.screen()

    terminal.wait_until(are_fresh, "the line while the server answers")
    return found[-1]


def seen_s(shown: str) -> int:
    """The age in the header of a picture that is not fresh, in seconds."""
    found = re.search(r"AWAY, seen (?:(\d+) min )?(?:(\d+) s )?ago", joined(shown))
    return int(found[1] or 0) * 60 + int(found[2] or 0) if found else -1


def test_a_terminal_as_small_as_it_gets_and_back(pbs: PbsCluster, state: Path) -> None:
    job = pbs.qsub("alice", select="1:ncpus=500")
    with console(pbs, state) as terminal:
        terminal.press("5")
        terminal.wait_for(f"{short(job)} alice workq Q")
        terminal.wait_for("jobs · 1")
        before = without_header(terminal.screen())
        terminal.resize(20, 5)
        terminal.wait_until(lambda shown: "READ-ONLY" in shown, "the lock, in 20 cells")
        for key in "12345678":
            terminal.press(key)
        terminal.command("help")
        shown = terminal.wait_for("type to narrow")
        assert "READ-ONLY" in shown, "a dialog leaves the header"
        terminal.press("Escape")
        terminal.wait_until(lambda shown: "type to narrow" not in shown, "the help is gone")
        unlock(terminal)
        terminal.press("u")
        terminal.wait_for("READ-ONLY")
        terminal.press("5")
        terminal.resize(110, 36)
        terminal.wait_until(lambda shown: without_header(shown) == before, f"the screen as it was:\n{before}")
        assert terminal.size() == (110, 36)


def without_header(shown: str) -> list[str]:
    """The table's columns that do not change by themselves: job, user, queue, state, cores, walltime."""
    return [" ".join(line.split()[:6]) for line in shown.splitlines()[1:6]]


def kill_console(terminal: Terminal) -> None:
    terminal.kill(CONSOLE)


def hang_up(terminal: Terminal) -> None:
    terminal.hang_up()


@pytest.mark.parametrize("end", [kill_console, hang_up])
def test_a_console_that_is_killed_while_it_writes_leaves_what_it_sent_in_the_audit_file(
    pbs: PbsCluster, state: Path, slow_alter: None, end: Callable[[Terminal], None]
) -> None:
    job = pbs.qsub("alice", select="1:ncpus=500")
    with console(pbs, state) as terminal:
        unlock(terminal)
        terminal.command(f"priority 7 {short(job)}")
        terminal.wait_for(f"qalter -p 7 {job}", "a apply")
        process = terminal.process(CONSOLE)
        terminal.press("a")
        wait_for_change_under_way(pbs, state)
        end(terminal)
        pbs.wait_until(lambda: not Path(f"/proc/{process}").exists(), PATIENCE_S, "the end of the console")
        assert stages(state) == ["sending"], "killed before anything was confirmed"
    (sending,) = audit(state)
    assert (sending["command"], sending["before"], sending["after"]) == (f"qalter -p 7 {job}", "0", "7")
    pbs.wait_until(lambda: pbs.job(job)["Priority"] == 7, PATIENCE_S, "what was sent to be done")
    with console(pbs, state) as terminal:
        assert "never confirmed" not in terminal.screen(), "another console may wait for it"
    assert stages(state) == ["sending"]
    file = state / "pbsteer" / "audit.jsonl"
    file.write_text(file.read_text().replace(sending["time"], "2026-01-01T00:00:00.000+00:00"))
    with console(pbs, state) as terminal:
        terminal.wait_for("sent and never confirmed", f"qalter -p 7 {job}")
        terminal.press("8")
        terminal.wait_for("unconfirmed", f"qalter -p 7 {job}")
    assert stages(state) == ["sending", "unconfirmed"]
    assert {entry["change"] for entry in audit(state)} == {sending["change"]}
    with console(pbs, state) as terminal:
        assert "never confirmed" not in terminal.screen(), "told once"


@pytest.fixture
def slow_alter(pbs: PbsCluster) -> None:
    """A server that takes its time for each alteration, so that a console can be killed in the middle of one."""
    path = pbs.server_home / "console" / "slow.py"
    begun = f"open({str(path.with_name(BEGUN))!r}, 'w').close()"
    path.write_text(f"import time\nimport pbs\n{begun}\ntime.sleep(8)\npbs.event().accept()\n", encoding="ascii")
    pbs.qmgr(f"create hook {SLOW_HOOK} event=modifyjob", f"import hook {SLOW_HOOK} application/x-python default {path}")
