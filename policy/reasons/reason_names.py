"""The codes that a reason can have, and the names of its numbers: closed lists, so that mypy refuses any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Union

ReasonCode = Literal[
    # Whatever is free
    "blocked", "hard-limit", "held-elsewhere", "into-window", "left-undone", "never-arranged", "never-fits",
    "no-fair-share", "not-before", "not-good-enough", "pinned", "queue-closed", "queue-stopped", "queue-unknown",
    "server-resource", "under-threshold",
    # In line
    "backfill-window", "behind-head", "fragmented", "limit-of-pass", "not-looked-at", "passed-over", "promise-moved",
    "reserved", "too-few-idle", "topjob-ineligible", "vnode-run-limit",
    # Preemption
    "base-class", "cut-for-promise", "cut-for-rescue", "exempt-victims", "no-lower-class", "no-priority", "no-quota",
    "no-victims", "over-quota", "preempt-delay", "preempt-delays-head", "preempted-class", "preempted-quota",
    "preempting", "too-few-lower", "unpreemptible", "victims-of-pass",
    # Stripes
    "packed", "staggered", "stripe-unplaced", "striped",
]  # fmt: skip
"""A code is stable: journals, ``--json`` and docs/policies.md have it."""

Time = Literal["at_s", "enough_s", "kept_until_s", "until_s"]
"""Moments on the snapshot's clock. A sentence gets each of them in words too, as ``NAME_in``."""

JobId = Literal["beneficiary", "head", "kept_for", "victims"]
"""Ids of jobs, several joined by ``", "``. A sentence gets them as users write them."""

NumberName = Literal[
    Time, JobId,
    "above", "above_s", "ahead", "asked", "before_s", "beside", "by", "cap", "capped", "chunks", "class",
    "closed_then", "cores_there", "counted", "destinations", "entity", "fewer", "fewest", "going", "gone", "has",
    "held", "held_alone", "idle", "in_the_way", "keeps_start", "kept", "kept_by", "kept_more", "left", "left_s",
    "lifts_at", "limit", "may_be_taken", "meeting", "missing", "most_left_s", "nearest", "need", "needs", "only_head",
    "open", "others", "over", "past", "pieces", "possible", "preemptible", "quantity", "queue", "resource", "scope",
    "short", "silent", "stagger_s", "stale", "stopped", "unit", "unread", "unsure", "used", "user", "varies", "vnode",
    "vnodes", "what", "why", "width", "window", "with_away",
]  # fmt: skip
"""The numbers that a reason may have."""

FactName = Literal[
    NumberName,
    "at_s_in", "enough_s_in", "kept_until_s_in", "until_s_in",
    "anywhere", "cores", "dated", "estimate", "exclusive", "placed", "requires", "sets", "spans", "walltime",
    "walltimes",
]  # fmt: skip
"""What a sentence is made of: the numbers, the times in words, and what belongs to the job."""

Number = Union[int, float, str]
Numbers = tuple[tuple[NumberName, Number], ...]
MoreNumbers = Mapping[NumberName, Number]
"""Numbers of one job that a reason shared by many cannot have."""

Facts = Mapping[FactName, Number]
