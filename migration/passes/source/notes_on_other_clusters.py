"""What a source remembers from pass to pass beside its records, in ``source.json``; ``mgstat`` reads it too.

Nothing depends on it for correctness: without the file, a pass sends a few requests that were known to fail.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hooks.store.atomic_file import replace_file
from hooks.store.bounded_json import parse_json
from policy.migration.wait_and_retry_bounds import SILENT_AFTER

FILE = "source.json"
_MODE = 0o644


@dataclass
class ClusterNotes:
    """One other cluster: its failures in a row and the last failure's text, the time of its last answer, and what was
    free at ``answered``."""

    failures: int = 0
    text: str = ""
    heard: int = 0
    answered: int = 0
    answer: dict[str, Any] | None = None

    @property
    def silent(self) -> bool:
        """Whether it counts as silent."""
        return self.failures >= SILENT_AFTER


@dataclass
class Notes:
    """``number`` and ``ended`` are those of the last pass; ``handed`` is the time of the last pass that handed a job
    over. ``full``: when a cluster without room for a user is asked again. ``refusals``: texts of clusters that refused
    a job for good. ``gone``: since when a local job is not seen. ``late``: when a job came back of which a step had
    failed at its target; others that were submitted before then come before it. ``unclear``: how many submissions of a
    job here have ended without an answer of the scheduler."""

    number: int = 0
    ended: int = 0
    handed: int = 0
    clusters: dict[str, ClusterNotes] = field(default_factory=dict)
    full: dict[str, dict[str, int]] = field(default_factory=dict)
    refusals: dict[str, dict[str, str]] = field(default_factory=dict)
    gone: dict[str, int] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)
    unclear: dict[str, int] = field(default_factory=dict)

    def of(self, cluster: str) -> ClusterNotes:
        """The notes of a cluster."""
        return self.clusters.setdefault(cluster, ClusterNotes())

    def drop(self, gid: str) -> None:
        """Forget what is about one job."""
        self.refusals.pop(gid, None)
        self.gone.pop(gid, None)
        self.late.pop(gid, None)
        self.unclear.pop(gid, None)

    def write(self, home: Path) -> None:
        """Replace the file. Raises OSError."""
        replace_file(home / FILE, json.dumps({"v": 1, **asdict(self)}, indent=1).encode("ascii") + b"\n", mode=_MODE)


def read_notes(home: Path) -> Notes:
    """The notes of the last pass; empty ones where there are none, or they are not this version's."""
    try:
        data = parse_json((home / FILE).read_bytes())
        if data.pop("v") != 1:
            return Notes()
        clusters = {name: ClusterNotes(**notes) for name, notes in data.pop("clusters").items()}
        return Notes(clusters=clusters, **data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Notes()
