"""pbsteer's commands on the server's host of a Torque testbed, and what they leave in the audit file."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from container.run_program import Finished
from tests.torque.cluster import TorqueCluster

ROOT = Path(__file__).parents[3]
AS_USER = """
import json, os, pwd, sys
from click.testing import CliRunner
from tui.cli.main import main
import _strptime
# What a command loads late is loaded before the rights to read it are given up.
CliRunner().invoke(main, ["do", "offline", "nosuch"])
user = pwd.getpwnam(sys.argv[1])
os.setgid(user.pw_gid)
os.setuid(user.pw_uid)
os.environ["HOME"], os.environ["XDG_STATE_HOME"] = user.pw_dir, user.pw_dir
main(json.loads(sys.argv[2]))
"""
"""The interpreter of the tests need not be one that users may run."""


def pbsteer(torque: TorqueCluster, *arguments: str, settings: str = "") -> Finished:
    """Run ``pbsteer`` as root; with the text of a settings file where one is given."""
    state = torque.testbed.folder / "state"
    words = ["env", f"PYTHONPATH={ROOT}", f"XDG_STATE_HOME={state}", sys.executable, "-m", "tui.cli.main", *arguments]
    if settings:
        file = torque.testbed.folder / "site.toml"
        file.write_text(settings, encoding="utf-8")
        words += ["--settings", str(file)]
    return torque.run(words)


def do(torque: TorqueCluster, *arguments: str) -> str:
    """``pbsteer do`` without questions; what it printed."""
    return pbsteer(torque, "do", *arguments, "--yes").demand_success().stdout


def pbsteer_as(torque: TorqueCluster, user: str, arguments: Sequence[str]) -> Finished:
    words = [sys.executable, "-c", AS_USER, user, json.dumps(list(arguments))]
    return torque.run(["env", f"PYTHONPATH={ROOT}", *words])


def audited(torque: TorqueCluster) -> list[tuple[str, str]]:
    """Stage and command of each line of the audit file."""
    file = torque.server_home / "pbsteer" / "changes.jsonl"
    own = torque.testbed.folder / "state" / "pbsteer" / "audit.jsonl"
    lines = (file if file.exists() else own).read_text(encoding="utf-8").splitlines()
    return [(entry["stage"], entry["command"]) for entry in map(json.loads, lines)]
