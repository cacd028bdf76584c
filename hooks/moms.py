"""The scripts for the hosts that run jobs, and what a MoM's configuration has to say of them.

A MoM runs them as root, so they are writable by nobody else, whatever the umask is, and each is written whole or not at
all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from policy.settings import CHECKPOINT_ACTION_S

SCRIPTS = {"checkpoint.py": 0o755, "profile.sh": 0o644}
"""The scripts, with their modes."""

_SHIPPED = Path(__file__).parent / "scripts"


def install_scripts(folder: Path, pbs_exec: Path, criu: str | None) -> Iterator[str]:
    """Write the scripts into a folder; the lines for the MoM's configuration, those for CRIU where it is named.

    Raises OSError where that cannot be, ValueError for a path that a line of a MoM's configuration cannot hold.
    """
    for path in (str(folder), str(pbs_exec), *([criu] if criu is not None else [])):
        if not path or not path.isprintable() or any(character in " #\"'" for character in path):
            raise ValueError(f"{path!r}: allowed in a MoM's configuration is a path without blanks, quotes and #")
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    for name, mode in SCRIPTS.items():
        fresh = folder / f"{name}.new"
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write((_SHIPPED / name).read_bytes())
        fresh.replace(folder / name)
    what = ("dump", "restore") if criu is not None else ("save", "restart")
    words = "%jobid %sid %taskid %path" + (f" {criu}" if criu is not None else "")
    return iter(
        f"$action {action} {CHECKPOINT_ACTION_S} !{pbs_exec}/bin/pbs_python {folder}/checkpoint.py {part} {words}"
        for action, part in zip(("checkpoint_abort", "restart"), what)
    )
