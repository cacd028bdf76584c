"""A user's program that alters waiting jobs as fast as the server takes it, until its standard input ends.

It gives each job a select of one core and of two cores in turns, and prints a line when each has had both. Last, it
prints how many alterations were taken, and how many refused with each of the server's messages.

Usage: PYTHON -I keep_altering_jobs.py PBS_EXEC JOB...
"""

from __future__ import annotations

import json
import select
import sys
from collections import Counter
from pathlib import Path


def main() -> None:
    """Alter the jobs until told to end."""
    sys.path.insert(0, str(Path(sys.argv[1]) / "lib" / "python" / "altair"))
    import pbs_ifl  # type: ignore[import-not-found, unused-ignore]

    handle = pbs_ifl.pbs_connect(None)
    change = pbs_ifl.attrl()
    change.name, change.resource, change.next = "Resource_List", "select", None
    refused: Counter[str] = Counter()
    taken, cores, rounds = 0, 1, 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        cores = 3 - cores
        change.value = f"1:ncpus={cores}"
        for job in sys.argv[2:]:
            if pbs_ifl.pbs_alterjob(handle, job, change, None):
                refused[str(pbs_ifl.pbs_geterrmsg(handle)).strip()] += 1
            else:
                taken += 1
        rounds += 1
        if rounds == 2:
            print("begun", flush=True)  # noqa: T201 - for the test that reads it
    sys.stdout.write(json.dumps({"taken": taken, "refused": refused}))


if __name__ == "__main__":
    main()
