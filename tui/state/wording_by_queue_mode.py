"""Indicative or conditional: a job "starts" where the plan for its queue is carried out, else it "would start".

``drive`` carries out all of a plan, ``advise`` only its preemptions, ``observe`` nothing; nor is anything carried out
during a pause, or in a queue in ``drive`` that the last pass could not drive (docs/hooks.md). The queue of a
reservation has no mode: PBS's scheduler starts its jobs, whatever pbsteer does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tui.backends.pass_journal import Pass
from tui.model.reservation_of_queue import SCHEDULER_STARTS, reservation_of
from tui.state.cluster_view import ClusterView
from tui.state.pbsteer_pause import pause_of
from tui.text.screen_line import safe

_LEFT_UNDONE = {
    "observe": "observe: nothing of this is carried out",
    "advise": "advise: PBS's scheduler starts jobs, pbsteer only preempts",
}
"""What a mode leaves to PBS's scheduler, or undone."""


class Wording(NamedTuple):
    """The verb forms for the starts, or for the preemptions, of one queue. ``undone``: why they are not carried out;
    empty if they are."""

    undone: str = ""

    def does(self, verb: str) -> str:
        """``starts`` or ``would start``."""
        return f"would {verb}" if self.undone else f"{verb}s"

    def is_to_be(self, participle: str) -> str:
        """``to be preempted`` or ``would be preempted``."""
        return f"would be {participle}" if self.undone else f"to be {participle}"

    def was(self, participle: str) -> str:
        """``started`` or ``would have been started``."""
        return f"would have been {participle}" if self.undone else participle

    def did(self, participle: str) -> str:
        """``preempted`` or ``would have preempted``."""
        return f"would have {participle}" if self.undone else participle

    def may_be(self, adjective: str) -> str:
        """``preemptible`` or ``would be preemptible``."""
        return f"would be {adjective}" if self.undone else adjective

    def choose(self, indicative: str, conditional: str) -> str:
        """One of two sentences that were made beforehand."""
        return conditional if self.undone else indicative

    def of_plan(self, sentence: str) -> str:
        """A sentence of the plan in the indicative; preceded by a warning if it is not carried out."""
        return f"not carried out: {sentence}" if self.undone else sentence


def starts_in(cluster: ClusterView, queue: str) -> Wording:
    """The forms for the starts that the console's plan has in a queue."""
    return _wording(cluster, queue, frozenset({"drive"}))


def preemptions_in(cluster: ClusterView, queue: str) -> Wording:
    """The forms for the preemptions that the console's plan has in a queue."""
    return _wording(cluster, queue, frozenset({"drive", "advise"}))


def titles_of(
    cluster: ClusterView, verb: str, wording: Callable[[ClusterView, str], Wording], jobs: Iterable[tuple[str, str]]
) -> dict[str, list[str]]:
    """Jobs, given as (queue, id), by what is done with them: those for whom it is carried out (``starts``) apart from
    the others (``would start``). Without jobs there is one empty title for all queues."""
    titled: dict[str, list[str]] = {}
    for queue, job_id in jobs:
        titled.setdefault(wording(cluster, queue).does(verb), []).append(job_id)
    if not titled:
        forms = [wording(cluster, queue).does(verb) for queue in cluster.modes]
        titled[f"{verb}s" if f"{verb}s" in forms else f"would {verb}"] = []
    return dict(sorted(titled.items()))


def _wording(cluster: ClusterView, queue: str, modes: frozenset[str]) -> Wording:
    reservation = reservation_of(cluster.server_status, queue)
    if reservation is not None:
        return Wording(f"{queue} is the queue of {safe(reservation.describe(cluster.now_s))}: {SCHEDULER_STARTS}")
    pause = pause_of(cluster)
    if pause:
        return Wording(pause)
    mode = cluster.modes.get(queue, "observe")
    if mode not in modes:
        return Wording(f"{queue} is in {_LEFT_UNDONE.get(mode, 'no mode')}")
    return Wording(_not_driven(cluster, queue) if mode == "drive" else "")


def _not_driven(cluster: ClusterView, queue: str) -> str:
    """Why the last pass did not drive a queue in ``drive``; empty if it did, or if there is no such pass."""
    last = cluster.passes.last
    if last is None or last.table("modes").get(queue) != "drive" or queue in last.started_in:
        return ""
    about = f"queue {queue} is not driven: "
    why = next((note[len(about) :] for note in last.texts("notes") if note.startswith(about)), "")
    return f"the last pass did not drive {queue}" + (f": {safe(why)}" if why else "")


def starts_of(entry: Pass, queue: object) -> Wording:
    """The forms for the starts that a pass of the journal decided on in a queue."""
    return Wording() if queue in entry.started_in else Wording(_left_by(entry, queue))


def preemptions_of(entry: Pass, queue: object) -> Wording:
    """The forms for the preemptions that a pass of the journal decided on in a queue."""
    return Wording() if queue in entry.preempted_in else Wording(_left_by(entry, queue))


def _left_by(entry: Pass, queue: object) -> str:
    """Why a pass left part of its plan for a queue undone."""
    if entry.data.get("paused"):
        return "pbsteer was paused: nothing of this was carried out"
    mode = entry.table("modes").get(str(queue), "no mode")
    if queue in entry.preempted_in:
        return f"{queue} was in {mode}: only preemptions were carried out, PBS's scheduler starts jobs"
    return f"{queue} was in {mode}: nothing of this was carried out"
