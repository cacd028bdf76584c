"""The world as the console knows it after one poll: the server's picture, its counts, and the console's own plan.

The plan is made here by the same :func:`policy.decide` that the periodic hook runs, on the same picture and with the
ledger that the hook published, so that what is shown as a reason or a reservation is what the hook would decide now.
A world never changes; the next poll makes the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from hooks.pbs.status import NAME, Attributes, Picture
from hooks.translate.snapshot import Known, modes_of, translate
from policy import Job, Ledger, Plan, Preempt, Reason, Settings, Snapshot, Start, decide
from policy.eligibility.own_priorities import queue_order
from policy.explain.longest_walltime import Longest
from policy.explain.queue_position import InLine
from policy.reasons.reason import Number
from tui.backends.journal import NO_PASSES, Passes
from tui.model.counts import Tally, count, folded, subjobs_of
from tui.model.server_changes import Watched
from tui.state.ended_jobs import Finished
from tui.state.lasting import still_holds
from tui.state.plan_order import in_plan_order
from tui.text.names import natural


@dataclass(frozen=True)
class Decision:
    """What the console decided on a picture, and what it took: seconds, and the data that could not be read;
    ``queue_order`` has the ids of the jobs that waited for the decision, in the policy's queue order; ``in_line``
    their places in line, ``longest`` the longest walltimes with which they would start."""

    snapshot: Snapshot
    plan: Plan
    problems: tuple[str, ...]
    cost_s: float
    queue_order: Sequence[str] = ()
    in_line: InLine | None = None
    longest: Longest | None = None

    @cached_property
    def reasons(self) -> Mapping[str, Reason]:
        """Why each job is left alone that is."""
        return {job.id: wait.reason for wait in self.plan.waits for job in wait.jobs}

    def reason_of(self, job_id: str) -> tuple[Job, Reason] | None:
        """A job that is left alone, and why; None where it is not."""
        reason = self.reasons.get(job_id)
        return None if reason is None else (self.snapshot.world().jobs[job_id], reason)

    def more_of(self, job_id: str) -> Mapping[str, Number]:
        """What no shared reason has: the job's place in line, and the longest walltime with which it would start."""
        if self.in_line is None or self.longest is None:
            return {}
        found = self.reason_of(job_id)
        return {**self.in_line.numbers(job_id), **(self.longest.numbers(*found) if found is not None else {})}

    @cached_property
    def starts(self) -> Mapping[str, Start]:
        """Starts by job id; of an array, the first start by the array's id."""
        starts: dict[str, Start] = {}
        for start in self.plan.starts:
            starts.setdefault(start.job.id, start)
        return starts

    @cached_property
    def estimates(self) -> Mapping[str, float]:
        """When jobs are reserved to start, by id, in seconds since 1970."""
        return {estimate.id: estimate.at_s for estimate in self.plan.estimates}

    @cached_property
    def preempts(self) -> Mapping[str, Preempt]:
        """Preemptions by the victim's id."""
        return {preempt.id: preempt for preempt in self.plan.preempts}


@dataclass(frozen=True)
class World:
    """One poll: the picture, its counts, modes by queue; ``decision`` is None until the first plan is made.

    ``watched`` is what changed since the console first looked, ``passes`` what the hooks wrote down. ``finished`` has
    jobs that have ended, newest first, where somebody asked for them, else None.
    """

    picture: Picture
    settings: Settings
    ledger: Ledger
    tally: Tally
    modes: Mapping[str, str]
    poll_s: float
    watched: Watched
    passes: Passes = NO_PASSES
    finished: Finished | None = None
    decision: Decision | None = None

    @cached_property
    def job_ids(self) -> list[str]:
        """Jobs and arrays: those that run, those that wait in the order of the plan's turns, those that are held, and
        then those that have ended; the others each in the server's order."""
        running, waiting, held = folded(self.picture.jobs)
        decision = self.decision
        if decision is not None:
            classes = decision.plan.classes or {}
            waiting = in_plan_order(waiting, decision.queue_order, classes, self.ledger.promises)
        return [*running, *waiting, *held, *(self.finished.jobs if self.finished else ())]

    @cached_property
    def vnode_names(self) -> list[str]:
        """All vnodes, numbers in their names in order."""
        return sorted(self.picture.vnodes, key=natural)

    @cached_property
    def subjob_ids(self) -> Mapping[str, list[str]]:
        """The running subjobs of each array."""
        return subjobs_of(self.picture.jobs)

    def job(self, job_id: str) -> Attributes | None:
        """A job's attributes, also where it has ended and the jobs that have were asked for; None without any."""
        found = self.picture.jobs.get(job_id)
        return found if found is not None or self.finished is None else self.finished.jobs.get(job_id)

    @property
    def server_name(self) -> str:
        """The server's name; empty where it did not say."""
        return self.picture.server.get(NAME, "")

    @property
    def now_s(self) -> float:
        """The picture's own clock."""
        return self.picture.time_s

    @property
    def counted(self) -> str:
        """The resource that the tables show: cores, where quotas count them."""
        return self.settings.quota.shown

    @property
    def mode(self) -> str:
        """The mode in one word; of several, all of them."""
        return "+".join(sorted(set(self.modes.values()))) or self.settings.server.mode

    def decided(self, stopwatch: Callable[[], float], known: Known | None = None, before: World | None = None) -> World:
        """This world with the plan made on it, or with that of the world ``before`` where it still holds; ``stopwatch``
        gives seconds, ``known`` are the jobs of worlds before."""
        if before is not None and before.decision is not None and still_holds(before.decision, before, self):
            world = replace(self, decision=before.decision)
            world.prepare()
            return world
        began_s = stopwatch()
        found = translate(self.picture, self.settings, known=known)
        waiting = [entry[3] for entry in queue_order(found.snapshot.world(), found.snapshot.time_s)]
        plan = decide(found.snapshot, self.ledger, self.settings)
        in_line = InLine(plan, self.settings)
        longest = Longest(found.snapshot.world(), plan, self.settings)
        decision = Decision(found.snapshot, plan, found.problems, stopwatch() - began_s, waiting, in_line, longest)
        world = replace(self, decision=decision)
        # What the views will ask for is made by whoever decides: who paints is in more of a hurry.
        world.prepare()
        return world

    def prepare(self) -> None:
        """Make now what is otherwise made when it is first looked at."""
        _ = self.job_ids, self.vnode_names, self.subjob_ids
        if self.decision is not None:
            decision = self.decision
            _ = decision.reasons, decision.starts, decision.preempts, decision.estimates, decision.snapshot.world()
            decision.more_of("")


def see(
    picture: Picture,
    settings: Settings,
    ledger: Ledger,
    poll_s: float,
    *,
    passes: Passes = NO_PASSES,
    finished: Finished | None = None,
    before: World | None = None,
) -> World:
    """The world of one picture, counted but not yet decided. ``before`` is the one of the poll before."""
    watched = Watched(picture.time_s)
    if (
        before is not None
        and before.picture.time_s <= picture.time_s
        and before.server_name == picture.server.get(NAME)
    ):
        counts = before.ledger.preemptions, ledger.preemptions
        watched = before.watched.compared(before.picture, picture, *counts)
    return World(
        picture,
        settings,
        ledger,
        count(picture.jobs, picture.vnodes, settings.quota.shown),
        modes_of(picture, settings),
        poll_s,
        watched,
        passes,
        finished,
    )


def execution_queues(world: World) -> list[str]:
    """The queues that jobs run from, those with most jobs first."""
    names = [name for name, queue in world.picture.queues.items() if queue.get("queue_type", "Execution")[:1] in "Ee"]
    return sorted(names, key=lambda name: (-sum(world.tally.queue_states.get(name, {}).values()), name))
