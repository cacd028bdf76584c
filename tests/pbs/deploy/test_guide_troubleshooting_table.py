"""The troubles of docs/guide.md's table, made on a real server: status and console say what the page says they do."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.hooks.deploy_on_testbed import LATE_S, deploy, quick_settings
from tests.pbs.cluster import PbsCluster
from tests.pbs.terminal import Terminal, joined, open_terminal
from tui.state.server_poller import PATIENCE

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
DISK = "size=1m,mode=700"
NO_RIGHTS = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
"""Before a command: root who may read what belongs to root, as any user may read their own, and nothing else."""


def promised(words: str) -> str:
    """Words that the page's table of troubles has, in the column of what one sees."""
    troubles = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    assert any(words in seen for seen in troubles), f"{words!r} is not what the guide's table says"
    return words


@pytest.fixture
def folder(pbs: PbsCluster) -> Path:
    """pbsteer's folder by its name on the server's host, with passes that observe every other second."""
    deploy(pbs, quick_settings())
    home = pbs.run(["sh", "-c", ". /etc/pbs.conf && echo $PBS_HOME"]).demand_success().stdout.strip()
    return Path(home) / "pbsteer"


def status(pbs: PbsCluster) -> str:
    done = pbs.run(["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tui.cli.main", "hooks", "status"])
    return " ".join((done.stdout + done.stderr).split())


def wait_for_status(pbs: PbsCluster, words: str) -> None:
    pbs.wait_until(lambda: words in status(pbs), LATE_S, f"{words!r} in the status")


def wait_for_next_pass(pbs: PbsCluster, folder: Path) -> None:
    """Until a pass has published what it did, on the host's own disks."""
    stamp = ["stat", "-c", "%Y.%y", str(folder / "last-pass.json")]
    before = pbs.run(stamp).stdout
    pbs.wait_until(lambda: pbs.run(stamp).stdout not in ("", before), LATE_S, "a pass that writes")


@contextlib.contextmanager
def console(pbs: PbsCluster, before: Sequence[str] = ()) -> Iterator[Terminal]:
    state = pbs.server_home / "console"
    state.mkdir(mode=0o777)
    environment = [f"PYTHONPATH={ROOT}", f"XDG_STATE_HOME={state}", f"XDG_CONFIG_HOME={state}"]
    argv = [*before, sys.executable, "-m", "tui.cli.main", "--interval", "1"]
    with open_terminal(pbs, argv, cells=120, lines=30, environment=environment) as terminal:
        terminal.wait_for("attention", "in use by")
        yield terminal


def test_a_full_disk_is_in_the_status_and_passes_go_on_once_there_is_room(pbs: PbsCluster, folder: Path) -> None:
    filler = folder / "filler"
    pbs.run(["mount", "-t", "tmpfs", "-o", DISK, "tmpfs", str(folder)]).demand_success()
    try:
        full = pbs.run(["sh", "-c", f"cat /dev/zero > {filler}"])
        assert "No space left" in full.stderr
        wait_for_status(pbs, promised("No space left on device"))
        pbs.run(["rm", str(filler)]).demand_success()
        wait_for_next_pass(pbs, folder)
    finally:
        pbs.run(["umount", "-l", str(folder)]).demand_success()


def test_a_locked_ledger_is_in_the_status_with_the_process_that_holds_it(pbs: PbsCluster, folder: Path) -> None:
    lock = folder / "lock"
    holder = f"flock {lock} sleep 300 & echo $!"
    held = pbs.run(["sh", "-c", f"exec 3>&1; ({holder} >&3) > /dev/null 2>&1"]).demand_success().stdout.strip()
    try:
        wait_for_status(pbs, promised("another pass is writing here"))
        named = pbs.run(["fuser", str(lock)])
        assert held in (named.stdout + named.stderr).split(), "the guide's way to the process"
    finally:
        pbs.run(["sh", "-c", f"kill $(fuser {lock} 2> /dev/null)"])
    wait_for_next_pass(pbs, folder)


def test_a_journal_that_may_not_be_read_is_reported_and_all_else_is_there(pbs: PbsCluster, folder: Path) -> None:
    job = pbs.qsub("alice", select="1:ncpus=500")
    pbs.run(["chown", "nobody", str(folder)]).demand_success()
    words = "may be read by root and by the group of the setting server.journal_group only"
    with console(pbs, NO_RIGHTS) as terminal:
        terminal.press("7")
        terminal.wait_for(promised(words), "leaves waiting 1 500 can never start")
        terminal.press("5")
        terminal.wait_for(f"{job.partition('.')[0]} alice workq Q")
    with console_anew(pbs) as terminal:
        terminal.press("7")
        terminal.wait_for("the last ones")
        assert words not in joined(terminal.screen()), "root with all its rights reads it"


@contextlib.contextmanager
def console_anew(pbs: PbsCluster) -> Iterator[Terminal]:
    (pbs.server_home / "console").rename(pbs.server_home / "console.before")
    with console(pbs) as terminal:
        yield terminal


def test_a_slow_server_is_told_by_the_cost_of_its_poll_and_is_asked_less(pbs: PbsCluster) -> None:
    promised("poll 2.40 s")
    with console(pbs) as terminal:
        terminal.wait_until(lambda shown: 0 <= cost_s(shown) < 1, "a quick poll")
        pbs.signal_server("STOP")
        try:
            # The pause after the last poll that was answered comes first.
            terminal.wait_until(lambda shown: age_s(shown) > PATIENCE * cost_s(shown) + 5, "a poll under way for long")
        finally:
            pbs.signal_server("CONT")
        shown = terminal.wait_until(lambda shown: cost_s(shown) > 2, "a poll that took long")
        cost = cost_s(shown)
        terminal.wait_until(lambda shown: age_s(shown) > 3 * cost, "a pause of several times what the poll took")
        terminal.wait_until(lambda shown: 0 <= cost_s(shown) < 1, "quick polls again", timeout_s=600)


def cost_s(shown: str) -> float:
    found = re.search(r"poll (\d+\.\d+) s", joined(shown))
    return float(found[1]) if found else -1.0


def age_s(shown: str) -> int:
    """The age of the picture in seconds; -1 where it is minutes, or away."""
    found = re.search(r"poll \S+ s, (\d+) s ago", joined(shown))
    return int(found[1]) if found else -1
