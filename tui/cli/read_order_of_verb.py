"""The words that follow a verb on the command line (``pbsteer do``, ``pbsteer whatif``) as an order: names and value.

A word that is missing is a wrong command line; a name or a value that the server does not allow is a refused change.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from tui.operations.operation_registry import Order, Verb, full_names
from tui.operations.operation_type_and_preview import CONSOLE
from tui.state.cluster_view import ClusterView


def read_order(verb: Verb, words: Sequence[str], cluster: ClusterView, user: str, before_verb: str = CONSOLE) -> Order:
    """The order of these words. Raises click.UsageError where one is missing, and
    :class:`~tui.backends.interface.commands_interface.ChangeError` where one is not allowed."""
    value, typed = verb.read(words)
    if not typed or (verb.value and not value and not verb.optional):
        raise click.UsageError(f"{verb.name} {verb.usage}: this has only {' '.join(words)!r}")
    verb.demand_value(cluster, value)
    return Order(full_names(cluster, verb.kind, typed), value, user, before_verb)
