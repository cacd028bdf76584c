"""What changed since the console was opened: jobs as counts, everything else as single events."""

from __future__ import annotations

from collections.abc import Sequence

from tui.audit.read_and_merge_audit_records import DONE, AuditRecord
from tui.audit.request_of_command import request_of
from tui.model.server_changes import Event
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import clock_time, day_and_time

_LAG_S = 120.0


def changed_lines(cluster: ClusterView, records: Sequence[AuditRecord], most: int) -> list[Line]:
    """At most ``most`` lines, the newest events first; ``records`` are the changes in the audit."""
    watched = cluster.watched
    counts = [
        (watched.submitted, "submitted"),
        (watched.started, "started"),
        (watched.ended, "ended"),
        (watched.preempted, "preempted"),
        (watched.requeued, "requeued"),
    ]
    summary = " · ".join(f"{count:,} {word}" for count, word in counts if count)
    lines: list[Line] = [
        (
            (f"since {day_and_time(watched.since_s, cluster.now_s)}: ", ""),
            (f"jobs {summary}" if summary else "no job was submitted, started or ended", ""),
        )
    ]
    events = list(reversed(watched.events))
    room = max(0, most - 1)
    shown = events if len(events) <= room else events[: max(0, room - 1)]
    lines += [_event_line(event, records) for event in shown]
    if len(shown) < len(events):
        lines.append(((f"and {len(events) - len(shown):,} changes before", "dim"),))
    return lines


def _event_line(event: Event, records: Sequence[AuditRecord]) -> Line:
    who = _made_by(event, records)
    return (
        (f"{clock_time(event.time_s)} ", "dim"),
        (safe(event.text), "bad" if event.bad else "bold"),
        (f" by {safe(who)}" if who else "", ""),
    )


def _made_by(event: Event, records: Sequence[AuditRecord]) -> str:
    """Who made a change: whose requests, sent shortly before and done, asked for it of each of its objects. Nobody is
    named where no command makes such a change, or where several people did."""
    asked = event.asked
    if asked is None:
        return ""
    makers: dict[str, str] = {}
    for record in records:
        if record.stage != DONE or not event.time_s - _LAG_S <= record.time_s <= event.time_s + 1:
            continue
        request = request_of(record.command)
        if request is not None and request.kind == asked.kind and request.asks(asked.what, asked.entry):
            # The newest comes first: what was seen is what it left.
            makers.setdefault(request.name, f"{record.user} from {record.origin}")
    found = {makers.get(name, "") for name in asked.names}
    return found.pop() if len(found) == 1 else ""
