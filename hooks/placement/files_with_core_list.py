"""The files with a job's list on one of its hosts, in a folder that only root writes and every user reads.

They are beside PBS's own node files, ``PBS_HOME/aux``, and are deleted once the host does not know the job any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hooks.placement.find_left_core_lists import FOLDER, PREFIX
from hooks.store.atomic_file import replace_file
from policy.model.lists_for_programs import Entry, mpich_hostfile, open_mpi_hostfile, ranked_lines

_KINDS = {
    "PBSTEER_RANKED": ("ranked", ranked_lines),
    "PBSTEER_OPEN_MPI": ("open-mpi", open_mpi_hostfile),
    "PBSTEER_MPICH": ("mpich", mpich_hostfile),
}


def write_lists(home: Path, job_id: str, entries: Sequence[Entry]) -> dict[str, Path]:
    """Write the job's files, and return them by the variable that names each. Raises OSError."""
    paths = {}
    for variable, (kind, show) in _KINDS.items():
        path = home / FOLDER / f"{PREFIX}{job_id}.{kind}"
        text = show(entries)
        if not path.exists() or path.read_text(encoding="ascii") != text:
            replace_file(path, text.encode("ascii"), mode=0o644, sync=False)
        paths[variable] = path
    return paths


def entries_of_host(entries: Sequence[Entry], natural_vnode: str) -> tuple[Entry, ...]:
    """The job's entries on the host of this vnode."""
    short = natural_vnode.partition(".")[0]
    return tuple(entry for entry in entries if natural_vnode in entry[:2] or short in entry[:2])
