"""On each host of a job, before a program of it starts: hand over the list of the job's sockets and cores.

The list comes in a variable that the job got at its start (:mod:`hooks.entries.runjob`); with ``bind`` the program
starts on those cores. A job without a list, or with one that cannot be used, starts as it would without this hook.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hooks.placement.bind_to_cores import bound_command, openmp_places_on_host
from hooks.placement.files_with_core_list import entries_of_host, write_lists
from hooks.store.settings_for_host_hooks import read_section
from policy.model.lists_for_programs import VARIABLE, parse_entries

_ROOT = Path("/")


def handle(pbs: Any) -> str | None:
    """Prepare the program of this event."""
    event = pbs.event()
    env = event.env
    if VARIABLE not in env:
        return None
    try:
        way = read_section(pbs.hook_config_filename, "ranking").get("lists", "none")
    except FileNotFoundError:
        # The hook is being taken from the host.
        return None
    entries = parse_entries(str(env[VARIABLE] or "")) if way in ("files", "bind") else ()
    if not entries:
        return None
    for name, path in write_lists(Path(pbs.pbs_conf["PBS_HOME"]), str(event.job.id), entries).items():
        env[name] = str(path)
    here = entries_of_host(entries, pbs.get_local_nodename())
    places = openmp_places_on_host(_ROOT, here[0]) if len(here) == 1 else ""
    if places and "OMP_PLACES" not in env:
        env["OMP_PLACES"] = places
    if way == "bind":
        command = bound_command(_ROOT, here, str(event.progname), [str(word) for word in event.argv])
        if command is not None:
            event.progname, event.argv = command
    return None
