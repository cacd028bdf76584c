"""What the checkpoint script does first to protect itself: it runs as root, beside processes of the job's user.

Unless isolated (``-I``), Python reads files of the user's home directory before it runs a script, and a MoM's open
files are inherited. So the script refuses to run unless isolated, closes what it inherits and limits its own memory.
"""

from __future__ import annotations

import os
import resource
import sys
import syslog
from pathlib import Path

from hooks.scripts.root_only_path import why_not_root_only

_MOST_MEMORY = 1 << 30
_FIRST_INHERITED = 3
_NOT_ISOLATED = (
    "nothing is done: Python is not isolated, so the job's user decides what it runs as root; put -I behind pbs_python"
    " in both $action lines of mom_priv/config, as 'pbsteer hooks scripts' prints them, and see docs/security.md"
)


def complain(what: str) -> int:
    """Log an error and return exit status 1; a MoM logs only the status."""
    sys.stderr.write(f"pbsteer-checkpoint: {what}\n")
    syslog.openlog("pbsteer-checkpoint", syslog.LOG_PID, syslog.LOG_DAEMON)
    syslog.syslog(syslog.LOG_ERR, what)
    return 1


def close_inherited() -> None:
    """Close all descriptors but 0, 1 and 2. A MoM closes these three, so missing ones are opened on /dev/null:
    otherwise the next file opened would become one of them."""
    for number in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        if number >= _FIRST_INHERITED:
            os.closerange(number, number + 1)
    while True:
        opened = os.open(os.devnull, os.O_RDWR)
        if opened >= _FIRST_INHERITED:
            os.close(opened)
            return
        os.set_inheritable(opened, True)


def refuse_to_run(script: str) -> str:
    """Why the script must not run; empty if it may."""
    if not sys.flags.isolated:
        return _NOT_ISOLATED
    return why_not_root_only(Path(script))


def bound_memory() -> None:
    """Limit this process's memory. The script is the MoM's child, outside the job's limits: what a job makes it read
    must not use up the host."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = _MOST_MEMORY if hard == resource.RLIM_INFINITY else min(_MOST_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def lift_memory_bound() -> None:
    """Remove the limit for the process that becomes the job's, which has limits of its own."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
