"""A job is moved to another queue: refuse users those of other servers, in every mode.

The whole server waits for this hook, so it reads nothing unless the request names a server.
"""

from __future__ import annotations

from typing import Any

from hooks.admission.submission.moves_to_other_servers import refuse_other_server
from hooks.pbs.job_attributes.read_attribute import read_attribute
from hooks.store.hook_settings import read_config


def handle(pbs: Any) -> str | None:
    """Judge the move of this event. If there is no such job, the event has none, and PBS itself refuses the move."""
    destination = read_attribute(pbs.event().job, "queue")
    if "@" not in destination or read_config(pbs.hook_config_filename).submission.depend_servers == "any":
        return None
    return refuse_other_server(pbs, destination) or None
