"""Jobs that migrate and the other clusters, as the last passes of this cluster have left them in migration's files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from migration.cli.migrating_job_in_words import is_on_the_way
from migration.passes.source.notes_on_other_clusters import ClusterNotes, Notes
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import REQUESTED

_RECENT_S = 86_400
"""Jobs that ended longer ago are left out."""


@dataclass(frozen=True)
class Migration:
    """``records`` has the jobs by id: this cluster's own, and the guests that it has. ``order`` has the other clusters
    in the order of asking. ``problem`` says why the files cannot be read; then there is nothing else. ``in_part``: this
    user may read only the copies, which lack arguments and commands. ``pauses``: the settings by which no job goes to a
    cluster or comes from there at the moment, for each that has one.
    """

    this: str = ""
    order: tuple[str, ...] = ()
    records: Mapping[str, Record] = field(default_factory=dict)
    notes: Notes = field(default_factory=Notes)
    now_s: float = 0.0
    problem: str = ""
    in_part: bool = False
    pauses: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def jobs(self) -> tuple[str, ...]:
        """The ids of the jobs, those that are not over first, then the latest first."""
        ranked = sorted(self.records.values(), key=lambda one: (one.final, -one.since, one.gid))
        return tuple(one.gid for one in ranked)

    @cached_property
    def requested(self) -> int:
        """How many of this cluster's jobs have no cluster yet."""
        return sum(not one.dst and not one.final for one in self.records.values())

    @cached_property
    def here(self) -> int:
        """How many of this cluster's own jobs run or wait here, in place."""
        return sum(one.in_place and not one.final for one in self.records.values())

    @cached_property
    def guests(self) -> int:
        """How many jobs of other clusters are here."""
        return sum(one.src != self.this and not one.final for one in self.records.values())

    @cached_property
    def sent(self) -> Mapping[str, int]:
        """How many of this cluster's jobs each other cluster has, those on the way included."""
        return Counter(one.dst for one in self._out)

    @cached_property
    def on_the_way(self) -> Mapping[str, int]:
        """How many of these are no jobs of its scheduler yet."""
        return Counter(one.dst for one in self._out if is_on_the_way(one))

    @cached_property
    def _out(self) -> list[Record]:
        own = (one for one in self.records.values() if one.src == self.this)
        return [one for one in own if one.dst and not one.in_place and not one.final]

    def known_of(self, cluster: str) -> ClusterNotes:
        """What is known of another cluster."""
        return self.notes.clusters.get(cluster) or ClusterNotes()


def is_shown(record: Record, this: str, now_s: float) -> bool:
    """Whether a job of the files is shown: not one that ended long ago, nor a guest that was given back."""
    if record.final:
        return now_s - record.since < _RECENT_S
    return record.src == this or record.state != REQUESTED
