"""What a user must type to confirm an operation, the same on the screen and on the command line.

A single change that ends no work needs only a yes. One that ends work needs the target's name (the whole id of another
server's job), several targets need their number, and a production server its name as well.
"""

from __future__ import annotations

from tui.config.production_servers_and_server_list import Site
from tui.operations.operation_type_and_preview import Operation
from tui.state.typed_job_id import id_to_type


def asked_for(operation: Operation, server: str, site: Site) -> str:
    """The text to type; empty if a yes is enough."""
    targets = operation.targets
    words = []
    if len(targets) > 1:
        words.append(str(len(targets)))
    elif operation.ends_work:
        words.append(_target_to_type(operation, server))
    if site.is_production(server):
        words.append(server)
    return " ".join(words)


def names_target(operation: Operation, server: str, typed: str) -> bool:
    """Whether the text, given unasked for an operation that needs only a yes, is the name of its target."""
    return is_confirmed(_target_to_type(operation, server), typed)


def _target_to_type(operation: Operation, server: str) -> str:
    target = operation.changes[0].target
    return id_to_type(target.name, server) if target.kind == "job" else target.name


def is_confirmed(asked: str, typed: str) -> bool:
    """Whether the typed text is the one asked for, whatever the blanks around and between its words."""
    return typed.split() == asked.split()
