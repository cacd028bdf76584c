"""Runs on the server's host: random changes, and after each the watcher's patched picture beside one read anew.

Usage: compare_differences_with_full_read.py SEED STEPS. Prints one object of JSON: how many pictures were compared,
how many rows the watcher was told in all, the changes made, and the first picture that differed, if one did.
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
from typing import Any

from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.reader.apply_status_differences import Assembly
from tui.backends.pbs.find_pbs import find_pbs
from tui.backends.pbs.reader_under_pbs_python import pbs_reader

_TRIES = 40
_USER = "alice"


class Counting(Assembly):
    """An assembly that counts the job rows it is told."""

    rows = 0

    def take(self, part: Any) -> ServerStatus | None:
        self.rows += len(part.get("jobs", ())) if "gone" not in part else 0
        return super().take(part)


def main(seed: int, steps: int) -> None:
    chance = random.Random(seed)
    place = find_pbs(os.environ)
    assert place is not None
    watcher = pbs_reader(place)
    watcher._assembly = counting = Counting()
    watcher.server_status()
    operations: Counter[str] = Counter()
    compared = 0
    vnodes: list[str] = []
    for _ in range(steps):
        jobs = watcher.server_status()
        vnodes = vnodes or list(jobs.vnodes)
        for _ in range(chance.randrange(1, 4)):
            operation = change(chance, list(jobs.jobs), vnodes)
            operations[operation] += 1
        time.sleep(chance.choice((0, 0.3, 1.2)))
        for _ in range(_TRIES):
            before, patched, after = read_anew(place), watcher.server_status(), read_anew(place)
            if plain(before) == plain(after):
                break
        else:
            continue  # the server never held still
        compared += 1
        if plain(patched) != plain(after):
            differs = different(plain(patched), plain(after))
            told = {"compared": compared, "rows": counting.rows, "operations": operations, "differs": differs}
            print(json.dumps(told))  # noqa: T201
            return
    for vnode in vnodes:
        subprocess.run(["pbsnodes", "-r", vnode], capture_output=True, check=False)
    watcher.close()
    print(json.dumps({"compared": compared, "rows": counting.rows, "operations": operations, "differs": None}))  # noqa: T201


def read_anew(place: Any) -> ServerStatus:
    reader = pbs_reader(place)
    try:
        return reader.server_status()
    finally:
        reader.close()


def plain(server_status: ServerStatus) -> dict[str, Any]:
    data = server_status.to_data()
    del data["time_s"]
    for job in data["jobs"].values():
        if job["job_state"] in "HRE":
            # Held once more, or terminated, a job gets another comment, which PBS does not note as a change.
            job.pop("comment", None)
    return data


def different(patched: dict[str, Any], anew: dict[str, Any]) -> list[Any]:
    """Part, object, and what each of the two says of it."""
    return [
        [part, name, patched[part].get(name), anew[part].get(name)]
        for part in anew
        for name in {**patched[part], **anew[part]}
        if patched[part].get(name) != anew[part].get(name)
    ]


def change(chance: random.Random, jobs: list[str], vnodes: list[str]) -> str:
    """Make one change; gives its name."""
    seconds = chance.choice(("1", "3", "600"))
    own = {
        "submit": ["qsub", "-f", "--", "/bin/sleep", seconds],
        "hold at once": ["qsub", "-f", "-h", "--", "/bin/sleep", seconds],
        "array": ["qsub", "-f", "-J", "0-3", "--", "/bin/sleep", seconds],
        "large": ["qsub", "-f", "-l", "select=1:ncpus=500", "--", "/bin/sleep", seconds],
    }
    plain_jobs = [job_id for job_id in jobs if "[" not in job_id]
    if plain_jobs:
        one = chance.choice(plain_jobs)
        own.update(
            {
                "delete": ["qdel", one],
                "hold": ["qhold", one],
                "release": ["qrls", one],
                "alter": ["qalter", "-p", str(chance.randrange(100)), one],
                "rename": ["qalter", "-N", f"n{chance.randrange(100)}", one],
                "rerun": ["qrerun", one],
            }
        )
    arrays = [job_id for job_id in jobs if "[]" in job_id]
    if arrays:
        own["delete an array"] = ["qdel", chance.choice(arrays)]
    roots = {
        "offline": ["pbsnodes", "-o", chance.choice(vnodes)],
        "online": ["pbsnodes", "-r", chance.choice(vnodes)],
        "quota": ["qmgr", "-c", f"set queue workq max_run_res_soft.ncpus = [u:alice={chance.randrange(1, 9)}]"],
    }
    operation = chance.choice([*own, *roots])
    if operation == "quota":
        roots[operation][-1] = f'set queue workq max_run_res_soft.ncpus = "[u:alice={chance.randrange(1, 9)}]"'
    argv = roots[operation] if operation in roots else ["runuser", "-u", _USER, "--", *own[operation]]
    # What the server refuses changes nothing, which is a change to be compared as well.
    # From the home directory, so that the jobs' output files go with the testbed.
    subprocess.run(argv, capture_output=True, cwd=pwd.getpwnam(_USER).pw_dir, timeout=60, check=False)
    return operation


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
