"""The rows of a table checked against the server: whose limit, of which queue and resource, and the quota."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from hooks.pbs.custom_resources import PRIORITY
from hooks.translate.queues import read_consumables, read_sizes
from policy.model.limit_attributes import EntityKey
from policy.quota_plan.planned_quotas import LimitKey, PlannedQuota, find_overlaps
from tui.backends.interface.commands_interface import ChangeError, Commands
from tui.quota_files.iso_times_in_quota_tables import read_moment, show_moment
from tui.quota_files.parse_typed_quota import parse_entity, parse_quota
from tui.quota_files.table_file import Row, TableError, read_table
from tui.state.cluster_view import ClusterView, execution_queues
from tui.state.typed_quota_scope_and_resource import SERVER

REQUIRED = ("user", "queue", "quota")
OPTIONAL = ("resource",)
SPAN = ("from", "until")


class ReadQuota(NamedTuple):
    """A row's limit and quota, None for ``none``, and where it was read."""

    where: str
    limit: LimitKey
    quota: int | None


def read_quotas(path: Path, cluster: ClusterView, commands: Commands) -> list[ReadQuota]:
    """The rows of a table of quotas. Raises :class:`TableError` with each problem of each row."""
    rows, problems = read_table(path, REQUIRED, OPTIONAL)
    found: dict[LimitKey, ReadQuota] = {}
    for row in rows:
        checked = _check(row, cluster, commands, problems)
        if checked is None:
            continue
        first = found.setdefault(checked.limit, checked)
        if first is not checked:
            problems.append(f"{checked.where}: {checked.limit.show()} is in {first.where} already")
    if problems:
        raise TableError(problems)
    return list(found.values())


def read_plan_table(
    path: Path,
    cluster: ClusterView,
    commands: Commands,
    known: Sequence[PlannedQuota],
    by: str,
    now_s: float,
    number: int,
) -> list[PlannedQuota]:
    """The entries of a table of planned quotas, numbered from ``number`` on; a row that is among the ``known`` ones is
    left out. Raises :class:`TableError` with each problem of each row, also where a span overlaps one of the table or
    of the known ones."""
    rows, problems = read_table(path, (*REQUIRED, *SPAN), OPTIONAL)
    entries: list[PlannedQuota] = []
    places: dict[int, str] = {}
    for row in rows:
        checked = _check(row, cluster, commands, problems)
        span_s = [_read_moment(row, name, problems) for name in SPAN]
        if checked is None or span_s[0] is None or span_s[1] is None:
            continue
        from_s, until_s = span_s[0], span_s[1]
        if until_s <= from_s:
            problems.append(f"{row.where}: until {_show(row.values['until'])}: allowed is a moment after from")
            continue
        # Looked for first: an entry stays in the plan for a while after its end, and its row in the file.
        same = (checked.limit, checked.quota, from_s, until_s)
        if any(same == (entry.limit, entry.quota, entry.from_s, entry.until_s) for entry in known):
            continue
        if until_s <= now_s:
            ended = f"allowed is a moment after now, {show_moment(now_s)}; remove a row whose time is over"
            problems.append(f"{row.where}: until {_show(row.values['until'])}: {ended}")
            continue
        queue = checked.limit.queue
        if queue and queue not in cluster.modes:
            there = ", ".join(sorted(cluster.modes))
            problems.append(f"{row.where}: queue {queue!r}: pbsteer does not manage it; allowed are {there}, {SERVER}")
            continue
        places[number] = row.where
        entries.append(PlannedQuota(number, checked.limit, checked.quota, from_s, until_s, by))
        number += 1
    for first, second in find_overlaps([*known, *entries]):
        later, earlier = sorted((first, second), key=lambda entry: -entry.number)
        other = places.get(earlier.number, f"entry {earlier.number} of the plan")
        span = f"{show_moment(earlier.from_s)} until {show_moment(earlier.until_s)}"
        problems.append(
            f"{places.get(later.number, f'entry {later.number}')}: {later.limit.show()} is planned from {span} in"
            f" {other}: allowed is one quota at a time"
        )
    if problems:
        raise TableError(problems)
    return entries


def _check(row: Row, cluster: ClusterView, commands: Commands, problems: list[str]) -> ReadQuota | None:
    """The row's limit and quota; None with a problem for each value that cannot be."""
    before = len(problems)
    values = row.values
    queue = _text(row, "queue", problems)
    if queue and queue != SERVER and queue not in execution_queues(cluster):
        there = ", ".join([*sorted(execution_queues(cluster)), SERVER])
        problems.append(f"{row.where}: queue {queue!r}: allowed are {there}")
    resource = (_text(row, "resource", problems) if "resource" in values else "") or cluster.counted
    _check_resource(row, resource, queue, cluster, problems)
    entity: EntityKey = ("", "")
    quota = None
    try:
        entity = parse_entity(commands, _text(row, "user", problems))
    except ChangeError as error:
        problems.append(f"{row.where}: user {error}")
    try:
        quota = parse_quota(_show(values["quota"]))
    except ChangeError as error:
        problems.append(f"{row.where}: {error}")
    if len(problems) > before:
        return None
    return ReadQuota(row.where, LimitKey("" if queue == SERVER else queue, resource, entity), quota)


def _check_resource(row: Row, resource: str, queue: str, cluster: ClusterView, problems: list[str]) -> None:
    resources = cluster.server_status.resources
    consumables = {*read_consumables(resources), cluster.counted} - read_sizes(resources)
    if resource == PRIORITY:
        if queue == SERVER:
            problems.append(f"{row.where}: resource {resource!r}: priorities stand on queues, not on {SERVER}")
    elif resource in read_sizes(resources):
        problems.append(f"{row.where}: resource {resource!r}: quotas on sizes are set by qmgr alone")
    elif resource not in consumables:
        allowed = ", ".join(sorted({*consumables, PRIORITY}))
        problems.append(f"{row.where}: resource {resource!r}: allowed are {allowed}")


def _text(row: Row, name: str, problems: list[str]) -> str:
    value = row.values[name]
    if isinstance(value, str):
        return value.strip()
    problems.append(f"{row.where}: {name} is {value!r}; allowed is a text")
    return ""


def _read_moment(row: Row, name: str, problems: list[str]) -> float | None:
    value = row.values[name]
    try:
        return read_moment(value)
    except ValueError as error:
        problems.append(f"{row.where}: {name} {_show(value)!r}: {error}")
        return None


def _show(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
