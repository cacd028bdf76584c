"""Where requests go: in submit order, here if this cluster can start them, else the first other cluster that can.

:func:`placing` is a generator that yields each question and each hand-over and is sent the outcome, so that a cluster
is asked only if those before it do not satisfy a request, and once a pass. :func:`place` decides the same from known
answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Callable, NamedTuple, Union

from policy.migration.available_to_other_clusters import Answer, find_shortfall, take
from policy.migration.job_demand import Demand
from policy.migration.job_record_and_copy_updates import ANY, LOCAL, Record
from policy.migration.round_robin_by_user import round_robin_by_user
from policy.values.frozen_value import FrozenValue


class Request(NamedTuple):
    """What placing needs of a record. ``fallback`` says that the job is also in the queue of this cluster."""

    gid: str
    user: str
    demand: Demand
    want: str = ANY
    age_s: float = 0
    stop: bool = False
    avoid: tuple[str, ...] = ()
    last: str = ""
    fallback: str = ""

    @classmethod
    def of(cls, record: Record, now_s: float) -> Request:
        """The request of a record that waits for a target."""
        age_s = max(0.0, now_s - record.created)
        return cls(
            record.gid, record.user, record.demand, record.want, age_s, bool(record.stop), record.avoid, record.last,
            record.fallback,
        )  # fmt: skip


@dataclass(frozen=True)
class PlacingSettings(FrozenValue):
    """``this`` cluster, the others in the order in which it asks them, and the bounds of a pass.

    A request older than ``fallback_s`` is also submitted to the local queue, where it ages and is reserved for.
    """

    this: str
    order: tuple[str, ...]
    max_per_pass: int = 64
    max_in_flight_per_target: int = 32
    fallback_s: float = 3600

    @property
    def max_in_flight_of_user(self) -> int:
        """The places on the way to a target that one user may take: three quarters, so that others have some."""
        return self.max_in_flight_per_target - self.max_in_flight_per_target // 4


@dataclass(frozen=True)
class PassState(FrozenValue):
    """What a pass knows before it asks: jobs on their way to each target, clusters that are not asked this time, and
    targets that are full for a user, with a text each.

    ``in_flight_of_user`` counts, by target and user, also the jobs that have no place in ``in_flight`` while a step of
    theirs is tried again."""

    in_flight: Mapping[str, int] = field(default_factory=dict)
    in_flight_of_user: Mapping[tuple[str, str], int] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    full: Mapping[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ask(FrozenValue):
    """Ask the cluster what is free; this one too. Send an :class:`Answer` or :class:`NoAnswer`."""

    cluster: str


@dataclass(frozen=True)
class StartHere(FrozenValue):
    """Submit the job to this cluster's scheduler, in place. Send :class:`Accepted` or :class:`Declined`."""

    gid: str


@dataclass(frozen=True)
class Offer(FrozenValue):
    """Hand the job over. Send :class:`Accepted`, :class:`Declined` or :class:`Unconfirmed`."""

    gid: str
    cluster: str


@dataclass(frozen=True)
class FallBack(FrozenValue):
    """Submit the job to this cluster's queue as well. Send :class:`Accepted` or :class:`Declined`."""

    gid: str


@dataclass(frozen=True)
class Stop(FrozenValue):
    """The user has stopped the request. What is sent is ignored."""

    gid: str


Step = Union[Ask, StartHere, Offer, FallBack, Stop]


@dataclass(frozen=True)
class NoAnswer(FrozenValue):
    """The cluster did not answer: it has nothing this pass."""

    text: str = "unreachable"


@dataclass(frozen=True)
class Accepted(FrozenValue):
    """The cluster has the job."""


@dataclass(frozen=True)
class Declined(FrozenValue):
    """The cluster would not start the job now. ``answer`` is what it reports as free, if it did. ``others`` is whether
    an equal request of this user would get the same answer (False: it is about this job alone). ``for_now``: it
    answered before that there is room for the job, so it may do so again in a moment. ``of_user``: this cluster takes
    no request of the user that is as large in this pass, as at a limit of the queue for each user."""

    text: str
    answer: Answer | None = None
    others: bool = True
    for_now: bool = False
    of_user: bool = False


@dataclass(frozen=True)
class Unconfirmed(FrozenValue):
    """It is unknown whether the cluster has the job, so no other cluster may be offered it."""


Outcome = Union[Answer, NoAnswer, Accepted, Declined, Unconfirmed, None]


class Stay(NamedTuple):
    """Why a request stays: what each cluster lacks, in the order of the look."""

    lacks: tuple[tuple[str, str], ...]

    def sentence(self) -> str:
        """One line for mgstat: ``b: short by 4 cores (8 of 12); c: unreachable``."""
        return "; ".join(f"{cluster}: {text}" if cluster else text for cluster, text in self.lacks)


@dataclass
class Placements:
    """The outcome of a pass, each request in exactly one of the four. ``fallbacks`` are of those that stay;
    ``busy_for_now`` says that one of these may go out in a moment."""

    placed: dict[str, str] = field(default_factory=dict)
    unconfirmed: dict[str, str] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)
    stays: dict[str, Stay] = field(default_factory=dict)
    fallbacks: list[str] = field(default_factory=list)
    hand_overs: int = 0
    busy_for_now: bool = False


Placing = Generator[Step, Outcome, Placements]
_NOTHING_KNOWN = PassState()
_MOST_FALLBACKS = 20
"""Requests that one pass also submits to the local queue: all of a long list become old at once. As many are tried of
one user, refused ones included."""
_MOST_STARTS_OF_USER = 64
"""Requests of one user that one pass starts here: each is several calls of the scheduler's programs."""
_MOST_REFUSALS_OF_USER = 8
"""Requests of one user that this cluster may refuse in one pass, each smaller than those before in some way."""
_NO_UPLOADS = 10**9
"""Slots of this cluster: a job that starts here is not uploaded."""


def placing(requests: Iterable[Request], settings: PlacingSettings, state: PassState = _NOTHING_KNOWN) -> Placing:
    """The steps of one pass over the requests, which come in submit order."""
    return _Pass(settings, state).steps(requests)


def place(
    requests: Iterable[Request],
    answers: Mapping[str, Answer],
    settings: PlacingSettings,
    state: PassState = _NOTHING_KNOWN,
    offer: Callable[[Offer], Outcome] = lambda _: Accepted(),
) -> Placements:
    """The pass where all answers are known, and ``offer`` gives the outcome of each offer. A cluster without an answer
    is unreachable."""
    steps = placing(requests, settings, state)
    outcome: Outcome = None
    try:
        while True:
            step = steps.send(outcome)
            if isinstance(step, Ask):
                outcome = answers.get(step.cluster, NoAnswer())
            else:
                outcome = offer(step) if isinstance(step, Offer) else Accepted()
    except StopIteration as end:
        placements: Placements = end.value
        return placements


class _Pass:
    def __init__(self, settings: PlacingSettings, state: PassState) -> None:
        self._settings = settings
        self._state = state
        self._answers: dict[str, Answer | NoAnswer] = {name: NoAnswer(text) for name, text in state.silent.items()}
        self._lacks: dict[str, dict[Demand, str]] = {}
        """What a demand lacks at a cluster, until the answer changes: equal requests are looked at once."""
        self._declined: dict[tuple[str, str, Demand], str] = {}
        """A cluster's answer to a user's demand; it holds for the whole pass. It may be a limit of this user alone."""
        self._for_now: set[tuple[str, str]] = set()
        """What clusters lack that may be there in a moment: they take no more now, and not since they are full."""
        self._in_flight = dict(state.in_flight)
        self._in_flight_of_user = dict(state.in_flight_of_user)
        self._refused_here: dict[str, list[tuple[Demand, str]]] = {}
        """What this cluster has refused of each user in this pass, with its answers."""
        self._started_here: Counter[str] = Counter()
        self._found = Placements()

    def steps(self, requests: Iterable[Request]) -> Placing:
        found, this = self._found, self._settings.this
        old: list[Request] = []
        for request in requests:
            if request.stop:
                yield Stop(request.gid)
                found.stopped.append(request.gid)
                continue
            lacks: list[tuple[str, str]] = []
            at_home = request.want in (ANY, LOCAL, this)
            if at_home and (yield from self._start_here(request, lacks)):
                continue
            if request.want not in (LOCAL, this) and (yield from self._hand_over(request, lacks)):
                continue
            if at_home and not request.fallback and request.age_s >= self._settings.fallback_s:
                old.append(request)
            found.stays[request.gid] = Stay(tuple(lacks))
            found.busy_for_now |= not self._for_now.isdisjoint(lacks)
        yield from self._fall_back(old)
        return found

    def _fall_back(self, old: list[Request]) -> Generator[Step, Outcome, None]:
        """Submit old requests here as well, one of each user in turn. Refused ones take no place of others."""
        fallbacks, most = self._found.fallbacks, min(self._settings.max_per_pass, _MOST_FALLBACKS)
        for request in round_robin_by_user(old, lambda one: one.user, _MOST_FALLBACKS, len(old)):
            if len(fallbacks) >= most:
                return
            if self._find_refusal_here(request):
                continue
            outcome = yield FallBack(request.gid)
            if not isinstance(outcome, Declined):
                fallbacks.append(request.gid)
            elif outcome.of_user:
                self._refused_here.setdefault(request.user, []).append((request.demand, outcome.text))

    def _start_here(self, request: Request, lacks: list[tuple[str, str]]) -> Generator[Step, Outcome, bool]:
        this = self._settings.this
        lack = self._find_bound_here(request) or (yield from self._find_lack(this, request))
        if not lack:
            outcome = yield StartHere(request.gid)
            if not isinstance(outcome, Declined):
                self._take(this, request)
                self._started_here[request.user] += 1
                self._found.placed[request.gid] = this
                return True
            lack = self._note(this, request, outcome)
            if outcome.of_user:
                self._refused_here.setdefault(request.user, []).append((request.demand, outcome.text))
        lacks.append((this, lack))
        return False

    def _find_bound_here(self, request: Request) -> str:
        """What forbids to start it here whatever is free; empty if nothing does."""
        if request.fallback:
            return f"also local {request.fallback}"
        refused = self._find_refusal_here(request)
        if refused:
            return refused
        started = self._started_here[request.user]
        if started >= _MOST_STARTS_OF_USER:
            return f"{started} jobs of {request.user} were started here in this pass"
        return ""

    def _find_refusal_here(self, request: Request) -> str:
        """The answer of this pass that stands for the request too: it asks for as much as one that was refused, or the
        user has been refused often enough. Empty if it is worth a try.

        The refused one may be over a limit that it always will be over, and keeps no smaller one from starting.
        """
        refused = self._refused_here.get(request.user, [])
        if len(refused) >= _MOST_REFUSALS_OF_USER:
            return refused[-1][1]
        return next((text for demand, text in refused if not request.demand.is_smaller_than(demand)), "")

    def _hand_over(self, request: Request, lacks: list[tuple[str, str]]) -> Generator[Step, Outcome, bool]:
        found = self._found
        for cluster in self._order(request):
            if found.hand_overs >= self._settings.max_per_pass:
                lacks.append(("", f"not looked at further: {found.hand_overs} hand-overs in this pass"))
                return False
            lack = self._find_bound(cluster, request) or (yield from self._find_lack(cluster, request))
            if not lack:
                outcome = yield Offer(request.gid, cluster)
                if not isinstance(outcome, Declined):
                    self._take(cluster, request)
                    of_user = (cluster, request.user)
                    self._in_flight[cluster] = self._in_flight.get(cluster, 0) + 1
                    self._in_flight_of_user[of_user] = self._in_flight_of_user.get(of_user, 0) + 1
                    found.hand_overs += 1
                    where = found.unconfirmed if isinstance(outcome, Unconfirmed) else found.placed
                    where[request.gid] = cluster
                    return True
                lack = self._note(cluster, request, outcome)
            lacks.append((cluster, lack))
        return False

    def _order(self, request: Request) -> tuple[str, ...]:
        """The targets to look at; the one that gave the job back comes last."""
        if request.want != ANY:
            return (request.want,)
        order = self._settings.order
        if request.last in order:
            return (*(name for name in order if name != request.last), request.last)
        return order

    def _find_bound(self, cluster: str, request: Request) -> str:
        """What forbids this target whatever is free there; empty if nothing does."""
        if cluster not in self._settings.order:
            return "no such cluster in the cluster file"
        if cluster in request.avoid:
            return "refused this job before"
        full = self._state.full.get((cluster, request.user))
        if full:
            return full
        in_flight = self._in_flight.get(cluster, 0)
        if in_flight >= self._settings.max_in_flight_per_target:
            lack = f"{in_flight} jobs are on their way there already"
            self._for_now.add((cluster, lack))
            return lack
        of_user = self._in_flight_of_user.get((cluster, request.user), 0)
        if of_user >= self._settings.max_in_flight_of_user:
            lack = f"{of_user} jobs of {request.user} are on their way there already"
            self._for_now.add((cluster, lack))
            return lack
        return ""

    def _find_lack(self, cluster: str, request: Request) -> Generator[Step, Outcome, str]:
        """What the demand lacks there, by an answer of this pass; empty if it fits."""
        answer = self._answers.get(cluster)
        if answer is None:
            outcome = yield Ask(cluster)
            answer = outcome if isinstance(outcome, (Answer, NoAnswer)) else NoAnswer()
            if cluster == self._settings.this and isinstance(answer, Answer):
                answer = answer._replace(slots=_NO_UPLOADS)
            self._answers[cluster] = answer
        if isinstance(answer, NoAnswer):
            return answer.text
        declined = self._declined.get((cluster, request.user, request.demand))
        if declined is not None:
            return declined
        lacks = self._lacks.setdefault(cluster, {})
        lack = lacks.get(request.demand)
        if lack is None:
            shortfall = find_shortfall(answer, request.demand)
            if shortfall is None:
                return ""
            lack = lacks[request.demand] = shortfall.sentence()
        return lack

    def _take(self, cluster: str, request: Request) -> None:
        answer = self._answers[cluster]
        if isinstance(answer, Answer):
            self._answers[cluster] = take(answer, request.demand)
            self._lacks.pop(cluster, None)

    def _note(self, cluster: str, request: Request, declined: Declined) -> str:
        """Remember the cluster's answer for the rest of the pass."""
        if declined.answer is not None:
            self._answers[cluster] = declined.answer
            self._lacks.pop(cluster, None)
        if declined.for_now:
            self._for_now.add((cluster, declined.text))
        if declined.others:
            self._declined[cluster, request.user, request.demand] = declined.text
        return declined.text
