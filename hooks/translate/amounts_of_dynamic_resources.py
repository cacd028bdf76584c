"""Sets what the server has of a dynamic resource to what the site's program has just printed.

PBS's scheduler checks a dynamic resource only where the ``resources`` line of its ``sched_config`` names it, and takes
what is no amount for 0.
"""

from __future__ import annotations

import math
from dataclasses import replace

from hooks.pbs.files_and_output.dynamic_server_resources import read_printed
from hooks.pbs.files_and_output.read_sched_config_and_sched_priv import SchedFiles
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from hooks.translate.uncounted_resources import list_resources
from policy.model.pbs_units import parse_amount

_AMOUNTS = frozenset({"long", "float", "size"})


def with_dynamic_amounts(server_status: ServerStatus, files: SchedFiles) -> tuple[ServerStatus, frozenset[str]]:
    """The server with these values as its ``resources_available``, and the resources among them that are amounts,
    which jobs use up whatever their flags."""
    printed: dict[str, str] = {}
    amounts = set()
    for scheduler, name, text in read_printed(files):
        kind = server_status.resources.get(name, {}).get("type", "")
        if name in list_resources(files[scheduler].get("sched_config", "")) and kind:
            printed[f"resources_available.{name}"] = _read_whole_amount(text) if kind in _AMOUNTS else text
            if kind in _AMOUNTS:
                amounts.add(name)
    if not printed:
        return server_status, frozenset()
    return replace(server_status, server={**server_status.server, **printed}), frozenset(amounts)


def _read_whole_amount(text: str) -> str:
    if parse_amount(text) is not None:
        return text
    try:
        amount = float(text)
    except ValueError:
        return "0"
    return str(max(0, math.floor(amount))) if math.isfinite(amount) else "0"
