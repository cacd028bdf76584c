"""Ranks the vnodes for a job: most left of what it prefers first, among those that meet its requirements
(docs/policies.md, P4).

There is one ranked list for each preference in a pass; a start changes what is left of its vnodes, which move in the
lists on their next use.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from policy.model.allocation import Allocation
from policy.model.job_preferences import RankPreference, Requirements
from policy.model.jobs_runs_vnodes_queues import Job
from policy.model.vnode_bitsets import count_vnodes, each_bit, indices_of, lowest, mask_of
from policy.ranking.ordered_vnodes import RankedList
from policy.ranking.vnode_reading_minus_later_starts import Remaining, speed_of
from policy.reasons.reason import Reason
from policy.reasons.reason_names import Number, NumberName
from policy.settings.built_in_and_custom_vnode_formulas import (
    UNKNOWN,
    Formula,
    VnodeHeadroom,
    formulas_with,
    ratio_at_least,
    ratio_at_most,
    smallest_ratio,
)
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.state.cluster_index import ClusterIndex


class Standing(NamedTuple):
    """One vnode under a preference: its score by the mode (with the formula's constant), its compliance U, and the
    dispatch score S, their product. None if no recent reading gives it; S is None also if U is below 1."""

    score: float | None
    compliance: float | None
    dispatch_score: float | None


class Ranking:
    """The ranked lists of one pass over one cluster index. Nothing is computed before the first use of a preference."""

    def __init__(self, cluster: ClusterIndex, settings: RankingSettings, now_s: float) -> None:
        self._cluster = cluster
        self._settings = settings
        self._now_s = now_s
        self._formulas: Mapping[str, Formula] = formulas_with(settings.formulas)
        self._default = None if settings.mode == "none" else RankPreference(settings.mode)
        self._remaining: Remaining | None = None
        self._bits: Sequence[int] = ()
        self._priorities: dict[str, list[float]] = {}
        self._lists: dict[tuple[str, Requirements], _Lists] = {}
        self._everyone = 0
        self._touched = 0

    def preference_of(self, job: Job) -> RankPreference | None:
        """The job's own preference, else the one of the settings; None if its vnodes are not ranked."""
        return job.rank or self._default

    def compliant(self, preference: RankPreference) -> int:
        """The vnodes that meet the requirements of the preference: U of at least 1, by readings that are recent
        enough."""
        return self._lists_of(preference).compliant

    def worth_clearing(self, preference: RankPreference, cores: int) -> int:
        """The vnodes that meet the requirements for a job with at least so many cores on each of them, once runs there
        have made room for it: compute that is counted from idle cores includes those cores. What else the end of a run
        gives back is not known before the next reading."""
        needs, meeting = preference.needs, self.compliant(preference)
        if needs.compute is None or not cores:
            return meeting
        rest = self.compliant(preference._replace(needs=needs._replace(compute=None)))
        for index in indices_of(rest & ~meeting & self._what_is_left().counting_cores):
            speed = speed_of(self._cluster.vnodes[self._cluster.capacity.directory.names[index]])
            meeting |= 1 << index if cores * speed >= needs.compute else 0
        return meeting

    def ordered(self, preference: RankPreference, vnodes: int) -> Iterator[int]:
        """The compliant ones of these vnodes one by one, as sets of one: highest S first, ties by name, then those with
        unknown S. Call neither :meth:`started` nor :meth:`earmarked` during the walk."""
        lists = self._lists_of(preference)
        yield from lists.ranked.within(vnodes)
        rest = lists.unranked & vnodes
        while rest:
            first = rest & -rest
            yield first
            rest ^= first

    def started(self, job: Job, allocation: Allocation) -> None:
        """Subtract a start of this pass from what is left of its vnodes. Call it before any other query."""
        if self._remaining is not None:
            self._touched |= self._remaining.note(job, allocation, self._now_s, self._now_s)

    def taken_back(self, job: Job, allocation: Allocation) -> None:
        """Undo :meth:`started`, as the pass cancels the start."""
        if self._remaining is not None:
            self._touched |= self._remaining.give_back(job, allocation)

    def earmarked(self, job: Job, allocation: Allocation) -> None:
        """Subtract what a beneficiary will use from what is left of its vnodes, so that these stay good enough for it;
        cores there have been taken."""
        self._touched |= self._what_is_left().note(job, allocation, self._now_s, self._now_s)

    def standing(self, preference: RankPreference, vnode: str) -> Standing:
        """The standing of one vnode under a preference. Raises KeyError for an unknown vnode."""
        index = self._cluster.capacity.directory.bits[vnode].bit_length() - 1
        lists = self._lists_of(preference)
        priority = lists.priorities[index]
        compliance = lists.compliances([index])[0] if lists.judged >> index & 1 else None
        return Standing(None if math.isnan(priority) else priority, compliance, lists.ranked.number(index))

    def missing(self, preference: RankPreference, vnodes: int) -> Reason:
        """Why too few of these vnodes are good enough: how many are, which other one comes nearest, which requirement
        it misses by most and by how much, and how many cannot be judged for lack of a recent reading."""
        lists = self._lists_of(preference)
        remaining = self._what_is_left()
        vnodes &= self._everyone
        numbers: list[tuple[NumberName, Number]] = [
            ("open", count_vnodes(vnodes)),
            ("meeting", count_vnodes(vnodes & lists.compliant)),
        ]
        nearest = next(lists.failing.within(vnodes), 0)
        if nearest:
            index = nearest.bit_length() - 1
            row = remaining.rows[index]
            quantity, need = min(lists.given, key=lambda given: _ratios([row], *given))
            has = row.of(quantity)
            numbers += [("nearest", self._cluster.capacity.directory.names[index]), ("quantity", quantity)]
            numbers += [("has", has), ("needs", need), ("short", abs(need - has))]
        silent = vnodes & ~lists.judged
        if silent:
            first = lowest(silent, 1)
            unread = next(quantity for quantity, _ in lists.given if not remaining.known[quantity] & first)
            numbers += [("silent", count_vnodes(silent)), ("unread", unread)]
            numbers += [("stale", count_vnodes(silent & remaining.stale))]
        return Reason("not-good-enough", tuple(numbers))

    # The ranked lists

    def _what_is_left(self) -> Remaining:
        if self._remaining is None:
            self._remaining = Remaining(self._cluster, self._settings, self._now_s)
            self._bits = tuple(self._cluster.capacity.directory.bits.values())
            self._everyone = (1 << len(self._bits)) - 1
            self._touched = 0
        return self._remaining

    def _lists_of(self, preference: RankPreference) -> _Lists:
        """The lists of the preference, updated for every vnode touched since."""
        remaining = self._what_is_left()
        if self._touched:
            self._refresh(remaining, [bit.bit_length() - 1 for bit in each_bit(self._touched & self._everyone)])
            self._touched = 0
        lists = self._lists.get(preference[:2])
        if lists is None:
            lists = self._lists[preference[:2]] = _Lists(
                preference, remaining, self._priorities_by(preference.mode), self._bits
            )
        elif lists.touched:
            lists.refresh()
        return lists

    def _priorities_by(self, mode: str) -> list[float]:
        priorities = self._priorities.get(mode)
        if priorities is None:
            remaining = self._what_is_left()
            priorities = self._priorities[mode] = [UNKNOWN] * len(remaining.rows)
            self._rate(mode, self._everyone)
        return priorities

    def _rate(self, mode: str, vnodes: int) -> None:
        """Compute the priorities by a mode of those of the vnodes for which enough is known: all that it uses or, of
        one that reports, some of it. What a vnode with a recent reading does not report, it has no sensor for."""
        formula, priorities, remaining = self._formulas[mode], self._priorities[mode], self._what_is_left()
        rows, rated = remaining.rows, remaining.rated
        fully = _all_of(rated, formula.uses, vnodes)
        partly = vnodes & remaining.reporting & ~fully & _any_of(rated, formula.uses)
        for index in indices_of(fully | partly):
            row = rows[index]
            if partly >> index & 1:
                row = _at_worst(row, [quantity for quantity in formula.uses if not rated[quantity] >> index & 1])
            value = formula.value(row) + formula.plus
            # For a priority below 0 (hotter than tolerated) a higher compliance would make the product worse.
            priorities[index] = max(0.0, value) if math.isfinite(value) else UNKNOWN

    def _refresh(self, remaining: Remaining, touched: Sequence[int]) -> None:
        for index in touched:
            remaining.refresh(index)
        moved = mask_of(touched)
        for mode in self._priorities:
            self._rate(mode, moved)
        for lists in self._lists.values():
            lists.touched.update(touched)


class _Lists:
    """The vnodes under one preference.

    ``judged``: those with all required quantities known. Of these the ``compliant`` are ``ranked`` by S, or
    ``unranked`` if the mode lacks a reading; the others are ``failing``, ordered by U. ``touched``: those to be judged
    anew.
    """

    def __init__(
        self, preference: RankPreference, remaining: Remaining, priorities: list[float], bits: Sequence[int]
    ) -> None:
        self.given = _given(preference.needs)
        self.priorities = priorities
        self.judged = _all_of(remaining.known, [quantity for quantity, _ in self.given], (1 << len(bits)) - 1)
        self.touched: set[int] = set()
        self._rows = remaining.rows
        self._bits = bits
        judged = indices_of(self.judged)
        compliances = self.compliances(judged)
        failing = {index: met for index, met in zip(judged, compliances) if not met >= 1}
        scores = {
            index: priorities[index] * met
            for index, met in zip(judged, compliances)
            if met >= 1 and not math.isnan(priorities[index])
        }
        self.compliant = self.judged & ~mask_of(failing)
        self.unranked = self.compliant & ~mask_of(scores)
        self.ranked = RankedList(scores, bits)
        self.failing = RankedList(failing, bits)

    def compliances(self, indices: Sequence[int]) -> list[float]:
        """U of these judged vnodes."""
        rows = [self._rows[index] for index in indices]
        ratios = [_ratios(rows, quantity, need) for quantity, need in self.given]
        return list(map(smallest_ratio, *ratios)) if ratios else [smallest_ratio()] * len(indices)

    def refresh(self) -> None:
        """Judge the touched vnodes anew and move them in the lists."""
        indices = [index for index in sorted(self.touched) if self.judged >> index & 1]
        self.touched.clear()
        for index, met in zip(indices, self.compliances(indices)):
            bit, priority = self._bits[index], self.priorities[index]
            self.compliant &= ~bit
            self.unranked &= ~bit
            if not met >= 1:
                self.ranked.drop(index)
                self.failing.put(index, met)
                continue
            self.failing.drop(index)
            self.compliant |= bit
            if math.isnan(priority):
                self.ranked.drop(index)
                self.unranked |= bit
            else:
                self.ranked.put(index, priority * met)


def _given(needs: Requirements) -> tuple[tuple[str, float], ...]:
    """The requirements that were given, as (quantity, amount), in a fixed order."""
    pairs = (
        ("memory", needs.memory_kib), ("compute", needs.compute),
        ("network", needs.network), ("temperature", needs.temperature),
    )  # fmt: skip
    return tuple((quantity, need) for quantity, need in pairs if need is not None)


def _ratios(rows: Iterable[VnodeHeadroom], quantity: str, need: float) -> list[float]:
    """The ratio by which each of these vnodes meets one requirement."""
    ratio = ratio_at_most if quantity == "temperature" else ratio_at_least
    place = VnodeHeadroom.place_of(quantity)
    return [ratio(row[place], need) for row in rows]


def _at_worst(row: VnodeHeadroom, quantities: Iterable[str]) -> VnodeHeadroom:
    """The vnode as if nothing were left of these quantities, and as if it were as hot as it tolerates: a sensor that is
    missing is no advantage."""
    values = list(row)
    for quantity in quantities:
        place = VnodeHeadroom.place_of(quantity)
        values[place : place + 2] = (1.0 if quantity == "temperature" else 0.0), 1.0
    return VnodeHeadroom(*values)


def _any_of(masks: Mapping[str, int], quantities: Iterable[str]) -> int:
    """The vnodes that are in the mask of some quantity."""
    vnodes = 0
    for quantity in quantities:
        vnodes |= masks[quantity]
    return vnodes


def _all_of(masks: Mapping[str, int], quantities: Iterable[str], vnodes: int) -> int:
    """Those of the vnodes that are in the mask of every quantity."""
    for quantity in quantities:
        vnodes &= masks[quantity]
    return vnodes
