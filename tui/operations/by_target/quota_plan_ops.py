"""The change of the plan of quotas: entries added or withdrawn, as one compare-and-set on the plan's file.

The file is root's, in the folder of the passes on the server's host. All entries of a change are written at once or not
at all; passes set and take back what it says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from hooks.pbs.custom_resources import PAUSED_ATTRIBUTE
from hooks.quota_plan.published_quota_plan import PublishedPlan
from hooks.quota_plan.quota_plan_files import read_plan, write_plan
from hooks.store.state_files import State
from policy.model.pbs_units import show_count
from policy.quota_plan.planned_quotas import Plan, PlanError, PlannedQuota
from tui.backends.interface.backend_protocol import BackendError, Reply
from tui.backends.interface.commands_interface import Change, ChangeError, Target
from tui.backends.interface.read_value_before_and_after_change import show_limit
from tui.operations.operation_type_and_preview import Operation
from tui.quota_files.iso_times_in_quota_tables import one_zone, show_moment
from tui.quota_files.parse_typed_quota import show_user
from tui.state.cluster_view import ClusterView
from tui.state.typed_quota_scope_and_resource import SERVER
from tui.text.screen_line import Line, safe

_PLAN = "quota plan"
_KEPT_S = 30 * 86400.0
"""Entries that are over are kept in the plan for so long."""
_MOST_LINES = 100
_MOST_ENTRIES = 20_000
UNAFFECTED = "the plan changes; nothing is set until an entry's time comes"


class _Digest:
    """Reads the plan as the number of its entries and a digest of them."""

    def of(self, attributes: Mapping[str, str] | None) -> str:
        """``3 planned quotas (1f0c9a2e)``."""
        return "gone" if attributes is None else attributes[_PLAN]


class PlanFolder:
    """The plan's file as what a change reads and writes: :func:`tui.operations.compare_and_set.make` on it writes the
    plan ``after``."""

    def __init__(self, state: State, after: Plan) -> None:
        self._state = state
        self._after = after

    def read(self, kind: str, name: str) -> Mapping[str, str]:
        """The plan, read now. Raises :class:`BackendError` where it cannot be read."""
        try:
            return {_PLAN: digest_of(read_plan(self._state))}
        except PlanError as error:
            raise BackendError(str(error)) from error

    def run(self, argv: Sequence[str]) -> Reply:
        """Write the plan."""
        try:
            write_plan(self._state, self._after)
        except OSError as error:
            return Reply(ok=False, text=str(error))
        return Reply(ok=True, text="")


def digest_of(plan: Plan) -> str:
    """The plan in a few words that differ where the plan does."""
    text = json.dumps([entry.to_data() for entry in plan], sort_keys=True)
    return f"{show_count(len(plan), 'planned quota')} ({hashlib.sha256(text.encode()).hexdigest()[:8]})"


def plan_quotas(
    cluster: ClusterView, before: Plan, new: Sequence[PlannedQuota], source: str, *, replace: bool, kept: Plan
) -> tuple[Operation, Plan]:
    """Add entries, read from the file ``source``, and the plan afterwards. With ``replace`` those that are neither in
    ``kept`` nor over are withdrawn. Raises :class:`ChangeError` if nothing would change."""
    gone = [entry for entry in before if replace and entry not in kept and entry.until_s > cluster.now_s]
    if not new and not gone:
        raise ChangeError(f"{source}: all of it is planned already")
    left = [entry for entry in before if entry not in gone and entry.until_s > cluster.now_s - _KEPT_S]
    after = tuple(sorted([*left, *new], key=lambda entry: entry.number))
    if len(after) > _MOST_ENTRIES:
        raise ChangeError(f"{source}: {len(after):,} planned quotas in all; allowed are {_MOST_ENTRIES:,}")
    title = f"plan {show_count(len(new), 'quota')}"
    if gone:
        title += f" and withdraw {len(gone):,}" if new else ""
        title = title if new else f"withdraw {show_count(len(gone), 'planned quota')}"
    argv = ("pbsteer", "quota", "plan", *(("--replace",) if replace else ()), source)
    return _operation(cluster, title, argv, before, after, new, gone), after


def withdraw_quotas(
    cluster: ClusterView, before: Plan, numbers: Collection[int], *, all_of_them: bool
) -> tuple[Operation, Plan]:
    """Withdraw entries, and the plan afterwards. Raises :class:`ChangeError` for a number that is not in the plan."""
    if all_of_them:
        numbers = [entry.number for entry in before if entry.until_s > cluster.now_s]
    known = {entry.number: entry for entry in before}
    unknown = sorted(number for number in numbers if number not in known)
    if unknown:
        there = ", ".join(map(str, sorted(known)[:_MOST_LINES])) or "none"
        raise ChangeError(f"planned quota {unknown[0]}: allowed are the numbers of pbsteer quota planned: {there}")
    if not numbers:
        raise ChangeError("no quota is planned")
    gone = [known[number] for number in sorted(set(numbers))]
    after = tuple(entry for entry in before if entry.number not in numbers)
    argv = ("pbsteer", "quota", "withdraw", *(str(entry.number) for entry in gone))
    title = f"withdraw {show_count(len(gone), 'planned quota')}"
    return _operation(cluster, title, argv, before, after, (), gone), after


def _operation(
    cluster: ClusterView,
    title: str,
    argv: tuple[str, ...],
    before: Plan,
    after: Plan,
    new: Sequence[PlannedQuota],
    gone: Sequence[PlannedQuota],
) -> Operation:
    target = Target(_PLAN, cluster.server_name)
    change = Change(target, argv, _Digest(), digest_of(before), digest_of(after), title=title, doer=f"the {_PLAN}")
    notes: list[Line] = [
        *_listed("from then until then, set and taken back by the passes", new),
        *_listed("withdrawn", gone),
        *(((safe(text), "warn"),) for text in remarks(cluster, new, gone)),
    ]
    return Operation(title, (change,), lambda server_status: server_status, notes=tuple(notes), unaffected=UNAFFECTED)


def _listed(heading: str, entries: Sequence[PlannedQuota]) -> list[Line]:
    if not entries:
        return []
    shown = entries[:_MOST_LINES]
    zone, show = one_zone(moments_of(shown))
    lines: list[Line] = [((f"{heading} ({zone}):", "dim"),)]
    lines += [((f"  {safe(entry_line(entry, show))}", ""),) for entry in shown]
    more = len(entries) - _MOST_LINES
    return [*lines, ((f"  and {more:,} more", "dim"),)] if more > 0 else lines


def moments_of(entries: Iterable[PlannedQuota]) -> list[float]:
    """The begins and ends of entries."""
    return [at_s for entry in entries for at_s in (entry.from_s, entry.until_s)]


def entry_line(entry: PlannedQuota, show: Callable[[float], str] = show_moment) -> str:
    """``alice 256 ncpus in workq, 2026-12-01 08:00 until 2026-12-05 18:00``."""
    place = entry.limit.queue or SERVER
    quota = f"{show_limit(entry.quota)} {entry.limit.resource}"
    span = f"{show(entry.from_s)} until {show(entry.until_s)}"
    return f"{show_user(entry.limit.entity)} {quota} in {place}, {span}"


def remarks(cluster: ClusterView, new: Sequence[PlannedQuota], gone: Sequence[PlannedQuota]) -> list[str]:
    """What to know before confirming: what is withdrawn while it is set, and where nothing will be set as things are
    now."""
    published: PublishedPlan = cluster.passes.quota_plan
    set_now = {each.entry.number for each in published.quotas if each.is_set}
    found = []
    back = sum(entry.number in set_now for entry in gone)
    if back:
        found.append(f"{back:,} of the withdrawn {'is' if back == 1 else 'are'} set now: the next pass takes them back")
    observed = sorted({entry.limit.queue for entry in new if cluster.modes.get(entry.limit.queue) == "observe"})
    if observed:
        queues = ", ".join(observed)
        found.append(f"{queues} in observe: nothing is set there until the mode is advise or drive")
    if any(not entry.limit.queue for entry in new) and set(cluster.modes.values()) == {"observe"}:
        found.append("all queues are in observe: nothing is set on the server until one is in advise or drive")
    reason = cluster.server_status.server.get(PAUSED_ATTRIBUTE, "")
    if reason:
        found.append(f"pbsteer is paused ({reason}): nothing is set or taken back until pbsteer resume")
    return found
