"""Finds the method for each action: the one of the same name in any group; verbs share one method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tui.action_registry import ACTIONS
from tui.operations.operation_registry import BY_NAME
from tui.screen.actions.on_cluster.operate_on_rows import OperateActions
from tui.screen.views.bases.base_view import MOVES


def methods_of(groups: Sequence[object]) -> Mapping[str, Callable[..., Any]]:
    """The methods by action, except for moves and the ``view-`` actions. Raises LookupError where not exactly one is
    found.

    A verb on jobs, vnodes or queues is done by :class:`OperateActions`.
    """
    methods: dict[str, Callable[..., Any]] = {}
    for action in ACTIONS:
        if action.name in MOVES or action.name.startswith("view-"):
            continue
        if action.name in BY_NAME:
            (acting,) = (group for group in groups if isinstance(group, OperateActions))
            methods[action.name] = partial(acting.do, BY_NAME[action.name])
            continue
        name = action.name.replace("-", "_")
        found = [getattr(group, name) for group in groups if hasattr(group, name)]
        if len(found) != 1:
            raise LookupError(f"action {action.name}: {len(found)} methods do it, there has to be one")
        methods[action.name] = found[0]
    return methods
