"""``pbsteer pass`` as a process on the server's host of a Torque testbed, and what it leaves in the journal."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.torque.cluster import TorqueCluster

ROOT = Path(__file__).parents[3]
DRIVE = "[server]\nmode = 'drive'\n"
BEGUN = 'touch "$HOME/begun.$PBS_JOBID"\n'
"""In a script after its trap: from then on it takes the signal, which may be long after Torque shows it as running."""
SAVES = f"trap 'exit 85' USR2\n{BEGUN}while :; do sleep 0.2; done\n"


class Passes:
    """The process, its settings file and its journal."""

    def __init__(self, torque: TorqueCluster) -> None:
        self._torque = torque
        self.file = torque.testbed.folder / "pass.toml"
        self.log = torque.testbed.folder / "pass.log"
        self._pid = ""

    @property
    def pid(self) -> str:
        """The process's id as the host knows it; empty while none runs."""
        return self._pid

    def configure(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8")

    def once(self) -> str:
        """One pass in the foreground; what it printed."""
        return self._torque.run([*self.command(), "--once"]).demand_success().stdout

    def start(self) -> None:
        """Start the process, and wait for its first pass."""
        begun_s = time.time()
        self._start(self.command())
        first = lambda: any(entry["time_s"] >= int(begun_s) for entry in self.journal())
        self._torque.wait_until(first, f"a first pass; it said: {self.said()}")

    def start_dying(self, point: str) -> None:
        """Start a process that is killed at a point of :mod:`tests.torque.server.pass_that_dies`."""
        python = ["env", f"PYTHONPATH={ROOT}", "PYTHONUNBUFFERED=1", sys.executable]
        dying = [*python, "-m", "tests.torque.server.pass_that_dies", point, "pass", "--settings", str(self.file)]
        self._start(dying)

    def _start(self, words: Sequence[str]) -> None:
        line = f"{shlex.join(words)} >>{shlex.quote(str(self.log))} 2>&1 </dev/null & echo $!"
        self._pid = self._torque.run(["sh", "-c", line]).demand_success().stdout.strip()

    def stop(self, signal: str = "TERM") -> None:
        """End the process, and wait until it has."""
        if self._pid:
            pid, self._pid = self._pid, ""
            self._torque.run(["kill", f"-{signal}", pid])
            self._torque.wait_until(
                lambda: self._torque.run(["test", "-e", f"/proc/{pid}/ns"]).status != 0, "the process has ended"
            )

    def said(self) -> str:
        """What the process has printed so far."""
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def journal(self) -> list[dict[str, Any]]:
        """The passes in the journal, oldest first."""
        lines = []
        for file in sorted((self._torque.server_home / "pbsteer").glob("journal-*.jsonl")):
            for line in file.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):
                    lines.append(json.loads(line))
        return lines

    def all_of(self, key: str) -> list[str]:
        """What the passes of this process and earlier ones did, by a key of the journal."""
        return [each for entry in self.journal() for each in entry[key]]

    def command(self, *instead: str) -> list[str]:
        """The words of ``pbsteer pass``, or of another command, with the settings file."""
        python = ["env", f"PYTHONPATH={ROOT}", "PYTHONUNBUFFERED=1", sys.executable, "-m", "tui.cli.main"]
        return [*python, *(instead or ("pass",)), "--settings", str(self.file)]


def wait_until_begun(torque: TorqueCluster, user: str, job_ids: Sequence[str]) -> None:
    """Wait until each script has come to ``BEGUN``."""
    home = torque.testbed.home(user)
    torque.wait_until(lambda: all((home / f"begun.{job_id}").exists() for job_id in job_ids), f"{job_ids} have begun")


def forget_passes(torque: TorqueCluster) -> None:
    """No journal, no ledger: as if no pass had ever been made."""
    torque.run(["rm", "-rf", "/var/spool/torque/pbsteer"]).demand_success()


@contextlib.contextmanager
def without_pbs_sched(torque: TorqueCluster) -> Iterator[None]:
    """Torque's own scheduler is ended meanwhile."""
    torque.run(["pkill", "-x", "pbs_sched"])
    torque.wait_until(lambda: torque.run(["pgrep", "-x", "pbs_sched"]).status != 0, "pbs_sched has ended")
    try:
        yield
    finally:
        sched = f"{torque.spec.pbs_exec}/sbin/pbs_sched"
        torque.run(["sh", "-c", f"{sched} >/dev/null 2>&1"]).demand_success()
