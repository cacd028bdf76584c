"""A migrating job, and another cluster, in the words of mgstat and the console."""

from __future__ import annotations

from migration.config.cluster_file import SENDING_IS_PAUSED, TAKING_IS_PAUSED, Here
from migration.passes.source.notes_on_other_clusters import ClusterNotes, Notes
from policy.migration.available_to_other_clusters import Shortfall
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import BEFORE_RUN, OFFERED, REQUESTED


def shown_state(record: Record) -> str:
    """The state: an offer without an answer counts as Requested."""
    return REQUESTED if record.state == OFFERED else record.state


def is_on_the_way(record: Record) -> bool:
    """Whether it was handed over, or offered, and is no job of the target's scheduler yet."""
    return record.state == OFFERED or record.state in BEFORE_RUN


def moved_bytes(record: Record) -> int:
    """The bytes copied for the job in both directions, in words."""
    return record.uploaded_bytes + record.shared_bytes + record.downloaded_bytes


def reached(known: ClusterNotes) -> str:
    """Whether a cluster answered in the last pass that asked it."""
    if known.failures:
        return f"not for {known.failures} pass{'es' if known.failures > 1 else ''}"
    return "yes" if known.heard else "not asked yet"


def why_paused(here: Here, name: str, known: ClusterNotes) -> str:
    """The pauses between this cluster and another one that answers, in either direction; empty if there are none."""
    theirs = bool(known.answer and known.answer.get("paused"))
    found = (
        SENDING_IS_PAUSED if not here.sends_to(name) else "",
        Shortfall("paused").sentence() if theirs else "",
        TAKING_IS_PAUSED if not here.takes_from(name) else "",
    )
    return "; ".join(filter(None, found))


def why_there(record: Record, notes: Notes, now_s: float) -> str:
    """The job's reason, with what only this cluster knows of it."""
    parts = [record.reason] if record.reason else []
    there = notes.clusters.get(record.dst)
    if record.state == OFFERED and "unconfirmed" not in record.reason:
        parts.append(f"hand-over to {record.dst} unconfirmed")
    if record.state == OFFERED and record.offered:
        parts.append(f"since {show_age(now_s - record.offered)}")
    elif there is not None and there.failures and not record.final:
        heard = f"as of {show_age(now_s - there.heard)} ago" if there.heard else "never heard of"
        parts.append(f"{record.dst} unreachable, {heard}")
    if record.fallback:
        parts.append(f"also local {record.fallback}" if record.fallback not in record.reason else "")
    return "; ".join(filter(None, parts))


def show_age(seconds: float) -> str:
    """A time in its largest unit: ``5 min``."""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def show_bytes(count: int) -> str:
    """An amount of data in its largest unit: ``1.5 GiB``."""
    for size, unit in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B" if count else "-"
