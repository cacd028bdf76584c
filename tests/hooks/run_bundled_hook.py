"""The bundled files run as PBS runs them: isolated, optimised, without a name, several events in one interpreter.

Each run is a fork of an interpreter that has loaded nothing of ours, since to start one and to compile a hook's modules
takes longer than the hook; with ``starts_anew`` it is a process of its own.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from hooks.deploy.bundle_hook import build
from hooks.store.state_files import State
from policy.model.ledger_between_passes import Ledger

STAND_IN = Path(__file__).parent / "stand_in"
RUNNER = STAND_IN / "run_hook.py"
ISOLATED = ("-I", "-S", "-OO")
LONGEST_S = 900
"""Only ends a hook that hangs: behind the tests of a real server this one may get no processor for minutes."""

SUMMARY_DATA = {
    "queues": {
        "workq": {
            "mode": "advise",
            "together": {"ncpus": 16},
            "largest": {"ncpus": 8},
            "hosts": 2,
            "vnodes": 2,
            "nodes": [[[[["ncpus", 8]]], 2]],
            "place": "",
            "chunk": {},
        }
    },
    "default_queue": "workq",
    "consumables": ["ncpus", "mem"],
    "names": ["v1", "v2"],
    "past": Ledger().to_data(),
    "starting": {"7.s": True, "8.s": False},
    "several": [],
}

VNODES = {name: {"resources_available": {"ncpus": 8, "host": name}, "resources_assigned": {}} for name in ("v1", "v2")}
"""What the summary tells of, as the server has it."""


def find_pythons() -> list[str]:
    """This Python, and of the host's own and a 3.9 those that run; one of each version."""
    by_version = {sys.version_info[:2]: sys.executable}
    for other in (shutil.which("python3", path=os.defpath), shutil.which("python3.9")):
        if other:
            code = "import sys; print(*sys.version_info[:2])"
            done = subprocess.run([other, "-c", code], capture_output=True, text=True, check=False)
            if not done.returncode:
                major, minor = done.stdout.split()
                by_version.setdefault((int(major), int(minor)), other)
    return list(by_version.values())


@cache
def start_forking(python: str) -> subprocess.Popen[str]:
    """The interpreter whose forks run hooks; it ends when its standard input does, with this process."""
    argv = [python, *ISOLATED, str(STAND_IN / "run_hook_in_fork.py")]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/")


class Hook:
    """Runs bundles in PBS_HOME ``home``."""

    def __init__(self, python: str, home: Path) -> None:
        self.python = python
        self.home = home
        self.state = State(home / "pbsteer")
        with self.state.locked():
            pass

    def run(
        self, event: str, *, text: str = "", settings: dict[str, Any] | None = None, starts_anew: bool = False,
        **scenario: Any,
    ) -> Any:  # fmt: skip
        files = {"hook.py": text or build(event), "config.json": json.dumps(settings or {})}
        for name, content in files.items():
            (self.home / name).write_text(content, encoding="utf-8")
        if event in ("queuejob", "modifyjob"):
            scenario.setdefault("vnodes", VNODES)
        scenario = {"home": str(self.home), "config": str(self.home / "config.json"), "events": [{}], **scenario}
        (self.home / "scenario.json").write_text(json.dumps(scenario))
        arguments = [str(self.home / "hook.py"), str(self.home / "scenario.json")]
        answer = json.loads(self._start_anew(arguments) if starts_anew else self._fork(arguments))
        assert answer["optimize"] == 2
        return answer

    def _start_anew(self, arguments: list[str]) -> str:
        argv = [self.python, *ISOLATED, str(RUNNER), *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LONGEST_S, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _fork(self, arguments: list[str]) -> str:
        forking = start_forking(self.python)
        assert forking.stdin is not None and forking.stdout is not None
        printed = {name: self.home / f"hook.{name}" for name in ("stdout", "stderr")}
        request = {
            "arguments": arguments,
            "environment": dict(os.environ),
            "folder": str(Path.cwd()),
            **{name: str(path) for name, path in printed.items()},
        }
        forking.stdin.write(json.dumps(request) + "\n")
        forking.stdin.flush()
        if not select.select([forking.stdout], [], [], LONGEST_S)[0]:
            forking.kill()
            # Tests after this one get another interpreter.
            start_forking.cache_clear()
            raise AssertionError(f"the hook did not end within {LONGEST_S} s")
        status = forking.stdout.readline().strip()
        assert status == "0", (status, printed["stderr"].read_text(errors="replace"))
        return printed["stdout"].read_text(encoding="utf-8")


def submit(**resources: str) -> dict[str, Any]:
    """A job as qsub sends it."""
    return {"queue": "workq", "Rerunable": 1, "Resource_List": resources}
