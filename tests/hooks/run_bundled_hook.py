"""The bundled files run as PBS runs them: isolated, optimised, without a name, several events in one interpreter."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hooks.deploy.bundle_hook import build
from hooks.store.state_files import State
from policy.model.ledger_between_passes import Ledger

RUNNER = Path(__file__).parent / "stand_in" / "run_hook.py"


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
    """This Python, and of the host's own and a 3.9 those that run."""
    others = [shutil.which("python3", path=os.defpath), shutil.which("python3.9")]
    run = [
        other
        for other in others
        if other and not subprocess.run([other, "-c", ""], capture_output=True, check=False).returncode
    ]
    return list(dict.fromkeys([sys.executable, *run]))


class Hook:
    """Runs bundles in PBS_HOME ``home``."""

    def __init__(self, python: str, home: Path) -> None:
        self.python = python
        self.home = home
        self.state = State(home / "pbsteer")
        with self.state.locked():
            pass

    def run(self, event: str, *, text: str = "", settings: dict[str, Any] | None = None, **scenario: Any) -> Any:
        files = {"hook.py": text or build(event), "config.json": json.dumps(settings or {})}
        for name, content in files.items():
            (self.home / name).write_text(content, encoding="utf-8")
        if event in ("queuejob", "modifyjob"):
            scenario.setdefault("vnodes", VNODES)
        scenario = {"home": str(self.home), "config": str(self.home / "config.json"), "events": [{}], **scenario}
        (self.home / "scenario.json").write_text(json.dumps(scenario))
        argv = [
            self.python,
            "-I",
            "-S",
            "-OO",
            str(RUNNER),
            str(self.home / "hook.py"),
            str(self.home / "scenario.json"),
        ]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["optimize"] == 2
        return answer


def submit(**resources: str) -> dict[str, Any]:
    return {"queue": "workq", "Resource_List": resources}
