"""The qmgr lines that take planned quotas back when the hooks are removed: no pass would do so at their end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hooks.pbs.custom_resources import SOFT_LIMIT
from hooks.quota_plan.quota_plan_files import read_plan_files
from hooks.store.state_files import State
from policy.model.limit_attributes import LimitError, Limits, parse_limits, show_entity


def lines_to_take_back(state: State, limits: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A line for each limit that still has what the plan set. ``limits`` are the server's: object and attribute as qmgr
    names them, and an entry (``[u:alice=128]``)."""
    present: dict[str, Limits] = {}
    for where, text in limits:
        try:
            read = parse_limits(text, where)
        except LimitError:
            continue
        present[where] = Limits({**present.get(where, Limits()).entries, **read.entries})
    for (queue, resource, entity), override in sorted(read_plan_files(state).record.overrides.items()):
        where = f"{f'queue {queue}' if queue else 'server'} {SOFT_LIMIT}.{resource}"
        now = present.get(where, Limits()).entries.get(entity)
        if now != override.value or now == override.before:
            continue
        after = {**present.get(where, Limits()).entries, entity: override.before}
        left = present[where] = Limits({each: limit for each, limit in after.items() if limit is not None})
        if override.before is not None:
            yield f"set {where} += [{show_entity(entity)}={override.before}]"
        elif left.entries:
            yield f"set {where} -= [{show_entity(entity)}={now}]"
        else:
            # PBS stores no removal of the last entry, and has it again when its server is restarted.
            yield f"unset {where}"
