"""Runs on the server's host: random changes, and after each a watcher's patched status beside one that is read anew and
one by Torque's programs.

Usage: compare_differences_with_full_read.py SEED STEPS. Prints one object of JSON: how many statuses were compared, the
changes made, and the first status that differed, if one did.
"""

from __future__ import annotations

import json
import os
import pwd
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from typing import Any

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy import Settings
from tests.pbs.console.compare_differences_with_full_read import different, plain
from torque.passes.settings_as_server_attributes import with_settings
from tui.backends.find_torque import TorquePlace, find_torque
from tui.backends.torque.server import TorqueBackend
from tui.backends.torque.torque_reader import torque_reader

_TRIES = 40
_USER = "alice"
_TIMEOUT_S = 10.0
_REPORTED = ("status.availmem", "status.netload", "status.idletime", "status.loadave")


def main(seed: int, steps: int) -> None:
    chance = random.Random(seed)
    place = find_torque(os.environ)
    assert place is not None
    watcher = torque_reader(place, _TIMEOUT_S)
    programs = TorqueBackend(replace(place, library=None), Settings())
    operations: Counter[str] = Counter()
    compared = 0
    differs = None
    for _ in range(steps):
        found = watcher.server_status()
        for _ in range(chance.randrange(1, 4)):
            operations[change(chance, list(found.jobs), list(found.vnodes))] += 1
        time.sleep(chance.choice((0, 0.3, 1.2)))
        for _ in range(_TRIES):
            before, patched, listed, after = (
                read_anew(place), as_polled(watcher.server_status()), programs.poll(), read_anew(place),
            )  # fmt: skip
            if steady(before) == steady(after):
                break
        else:
            continue  # the server never held still
        compared += 1
        for one in (patched, listed):
            if steady(one) != steady(after):
                differs = different(steady(one), steady(after))
        if differs:
            break
    watcher.close()
    print(json.dumps({"compared": compared, "operations": operations, "differs": differs}))  # noqa: T201


def as_polled(status: ServerStatus) -> ServerStatus:
    """What the console makes of it without a settings file."""
    return with_settings(status, Settings(), is_stopped=status.server.get("scheduling") == "False")


def read_anew(place: TorquePlace) -> ServerStatus:
    reader = torque_reader(place, _TIMEOUT_S)
    try:
        return as_polled(reader.server_status())
    finally:
        reader.close()


def steady(server_status: ServerStatus) -> dict[str, Any]:
    """The status without what a MoM measures anew each time, and without ``rectime``'s like."""
    data = plain(server_status)
    for vnode in data["vnodes"].values():
        for name in _REPORTED:
            vnode.pop(name, None)
    return data


def change(chance: random.Random, jobs: list[str], nodes: list[str]) -> str:
    """Make one change; gives its name."""
    seconds = chance.choice(("1", "3", "600"))
    script = f"sleep {seconds}\n"
    own = {
        "submit": ["qsub", "-l", "nodes=1"],
        "hold at once": ["qsub", "-h", "-l", "procs=2"],
        "array": ["qsub", "-t", chance.choice(("0-3", "0-5%2"))],
    }
    roots = {
        "offline": ["pbsnodes", "-o", "-N", "why", chance.choice(nodes)],
        "online": ["pbsnodes", "-c", "-N", "", chance.choice(nodes)],
        "queue": ["qmgr", "-c", f"set queue batch started = {chance.choice(('True', 'False'))}"],
    }
    plain_jobs = [job_id for job_id in jobs if "[" not in job_id]
    if plain_jobs:
        one = chance.choice(plain_jobs)
        own |= {
            "delete": ["qdel", one],
            "hold": ["qhold", one],
            "release": ["qrls", one],
            "alter": ["qalter", "-p", str(chance.randrange(100)), one],
            "rename": ["qalter", "-N", f"n{chance.randrange(100)}", one],
        }
        roots |= {
            "run": ["qrun", one],
            "rerun": ["qrerun", one],
            "suspend": ["qsig", "-s", "suspend", one],
            "resume": ["qsig", "-s", "resume", one],
        }
    arrays = [job_id for job_id in jobs if "[]" in job_id]
    if arrays:
        own["delete an array"] = ["qdel", chance.choice(arrays)]
        roots["run a subjob"] = ["qrun", chance.choice(arrays).replace("[]", "[0]")]
    operation = chance.choice([*own, *roots])
    argv = roots[operation] if operation in roots else ["runuser", "-u", _USER, "--", *own[operation]]
    # What the server refuses changes nothing, which is to be compared as well.
    subprocess.run(
        argv,
        input=script,
        text=True,
        capture_output=True,
        cwd=pwd.getpwnam(_USER).pw_dir,
        env={**os.environ, "PBSAPITIMEOUT": "10"},
        timeout=60,
        check=False,
    )
    return operation


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
