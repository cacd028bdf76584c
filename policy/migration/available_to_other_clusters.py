"""What is free at a cluster, as it answers when asked: idle cores, less what is set aside or already promised.

``avail`` is for any job; ``avail_before_head`` adds the cores reserved for the head of the queue, for jobs that end
before the head needs them. What could be preempted never counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from policy.migration.job_demand import Demand


class AnswerError(ValueError):
    """A message that is no answer."""


class Shape(NamedTuple):
    """``nodes`` hosts alike: the cores, the memory and the GPUs that are free on each."""

    nodes: int
    cores: int
    mem_mib: int
    gpus: int


class FreeNodes(NamedTuple):
    """What a local scheduler says. ``earmarked`` are idle cores that only a job which preempted others may take,
    ``reserved`` those for the head, which starts in ``head_in_s`` (None: no head known). ``max_walltime_s`` None is
    unlimited.
    """

    scheduler: str
    cores: int
    shapes: tuple[Shape, ...]
    earmarked: int = 0
    reserved: int = 0
    head_in_s: int | None = None
    max_walltime_s: int | None = None

    @property
    def idle(self) -> int:
        """Free cores of all usable nodes."""
        return sum(shape.nodes * shape.cores for shape in self.shapes)


class Answer(NamedTuple):
    """The answer of one cluster, good for one pass: each placement takes its part out of it (:func:`take`).

    ``slots`` is how many more jobs it would accept now. ``time`` is its own clock, for a person to read. ``landing``
    says whether a user can have files there, where that was asked. A cluster that is ``paused`` takes no job of the one
    that asks.
    """

    cluster: str
    scheduler: str
    cores: int
    idle: int
    earmarked: int
    reserved: int
    in_flight: int
    avail: int
    avail_before_head: int
    head_in_s: int | None
    shapes: tuple[Shape, ...]
    max_walltime_s: int | None
    slots: int
    arch: str = ""
    time: int = 0
    version: str = ""
    landing: str = ""
    paused: bool = False

    def to_data(self) -> dict[str, Any]:
        """The answer as it is sent: plain data, one JSON line."""
        return {"v": 1, **self._asdict(), "shapes": [list(shape) for shape in self.shapes]}

    @classmethod
    def from_data(cls, data: object) -> Answer:
        """An answer from another cluster. Raises :class:`AnswerError`, which names the field and what is allowed."""
        if not isinstance(data, Mapping):
            raise AnswerError(f"answer {data!r:.80}: must be an object")
        if data.get("v") != 1:
            raise AnswerError(f"answer: v is {data.get('v')!r:.40}: must be 1")
        values: dict[str, Any] = {name: _text(data, name) for name in ("cluster", "scheduler")}
        for name in ("cores", "idle", "earmarked", "reserved", "in_flight", "avail", "avail_before_head", "slots"):
            values[name] = _count(name, data.get(name))
        for name in ("head_in_s", "max_walltime_s"):
            value = data.get(name)
            values[name] = None if value is None else _count(name, value)
        shapes = data.get("shapes")
        if not isinstance(shapes, (list, tuple)) or len(shapes) > _MOST_SHAPES:
            raise AnswerError(f"answer: shapes is {shapes!r:.80}: must be a list of at most {_MOST_SHAPES} shapes")
        values["shapes"] = tuple(map(_shape, shapes))
        for name in ("arch", "version", "landing"):
            values[name] = _text(data, name) if name in data else ""
        values["time"] = _count("time", data.get("time", 0))
        values["paused"] = data.get("paused", False) is True
        return cls(**values)


class Shortfall(NamedTuple):
    """Why a demand does not fit an answer: a code and the numbers of its sentence."""

    code: str
    need: int = 0
    have: int = 0

    def sentence(self) -> str:
        """A few words, to be read after the cluster's name."""
        return _SENTENCES[self.code].format(need=self.need, have=self.have, short=self.need - self.have)


_SENTENCES = {
    "short": "short by {short} cores ({have} of {need})",
    "too-long": "too long: {need} s, at most {have} s there",
    "hosts": "only {have} of {need} hosts have enough free cores, memory and GPUs",
    "arch": "the program was built for another kind of processor, and there is no build command",
    "busy": "busy with uploads",
    "paused": "takes no jobs of this cluster at the moment (its pause_taking_from)",
}
_MOST = 10**15
_MOST_SHAPES = 20_000
_MOST_TEXT = 200


def make_answer(
    cluster: str,
    free: FreeNodes,
    in_flight: Sequence[Demand],
    most_in_flight: int,
    *,
    arch: str = "",
    time: int = 0,
    version: str = "",
) -> Answer:
    """The answer of a cluster in which ``in_flight`` has been accepted and is not yet seen by the scheduler.

    Without ``in_flight`` two sources would fill the same idle cores.
    """
    promised = sum(demand.cores for demand in in_flight)
    spare = free.idle - free.earmarked - promised
    shapes = free.shapes
    for demand in in_flight:
        shapes = take_shapes(shapes, demand)
    return Answer(
        cluster, free.scheduler, free.cores, free.idle, free.earmarked, free.reserved, promised,
        max(0, spare - free.reserved), max(0, spare), free.head_in_s, shapes, free.max_walltime_s,
        max(0, most_in_flight - len(in_flight)), arch, time, version,
    )  # fmt: skip


def reserved_for_head(idle: int, head_cores: int, head_in_s: float, running: Iterable[tuple[int, float]]) -> int:
    """Of the idle cores, those that the head will need at its time beyond what ends by then.

    ``running`` has the cores and the seconds left of each run.
    """
    freed = sum(cores for cores, left_s in running if left_s <= head_in_s)
    return min(idle, max(0, head_cores - freed))


def find_shortfall(answer: Answer, demand: Demand) -> Shortfall | None:
    """Why the demand does not fit; None where it does. A demand that fails fails for the rest of a pass, since an
    answer only shrinks."""
    if answer.paused:
        return Shortfall("paused")
    if demand.arch and answer.arch and demand.arch != answer.arch:
        return Shortfall("arch")
    if answer.max_walltime_s is not None and demand.walltime_s > answer.max_walltime_s:
        return Shortfall("too-long", demand.walltime_s, answer.max_walltime_s)
    have = answer.avail_before_head if _ends_before_head(answer, demand) else answer.avail
    if demand.cores > have:
        return Shortfall("short", demand.cores, have)
    if demand.nodes:
        hosts = sum(shape.nodes for shape in answer.shapes if _chunk_fits(shape, demand))
        if hosts < demand.nodes:
            return Shortfall("hosts", demand.nodes, hosts)
    if answer.slots < 1:
        return Shortfall("busy")
    return None


def take(answer: Answer, demand: Demand) -> Answer:
    """The answer after the demand has been placed there.

    A job that ends before the head runs on the reserved cores first: they are idle again when the head needs them.
    """
    before_head = max(0, answer.avail_before_head - demand.cores)
    if _ends_before_head(answer, demand):
        avail = min(answer.avail, before_head)
    else:
        avail = max(0, answer.avail - demand.cores)
    return answer._replace(
        avail=avail,
        avail_before_head=before_head,
        in_flight=answer.in_flight + demand.cores,
        shapes=take_shapes(answer.shapes, demand),
        slots=max(0, answer.slots - 1),
    )


def take_shapes(shapes: tuple[Shape, ...], demand: Demand) -> tuple[Shape, ...]:
    """The shapes after the demand has been placed, on the hosts with the fewest free cores that will do."""
    left: dict[tuple[int, int, int], int] = {}
    for shape in shapes:
        left[shape[1:]] = left.get(shape[1:], 0) + shape.nodes
    if demand.nodes:
        _take_chunks(left, demand)
    else:
        _take_cores(left, demand.cores)
    return tuple(Shape(nodes, *free) for free, nodes in sorted(left.items()) if nodes and free[0])


def _take_chunks(left: dict[tuple[int, int, int], int], demand: Demand) -> None:
    wanted, chunk = demand.nodes, demand.chunk_cores
    for free in sorted(left):
        cores, mem_mib, gpus = free
        if cores < chunk or mem_mib < demand.mem_mib or gpus < demand.gpus:
            continue
        taken = min(wanted, left[free])
        left[free] -= taken
        after = (cores - chunk, mem_mib - demand.mem_mib, gpus - demand.gpus)
        left[after] = left.get(after, 0) + taken
        wanted -= taken
        if not wanted:
            return


def _take_cores(left: dict[tuple[int, int, int], int], wanted: int) -> None:
    for free in sorted(left):
        cores, mem_mib, gpus = free
        if not cores:
            continue
        whole = min(left[free], wanted // cores)
        left[free] -= whole
        wanted -= whole * cores
        if wanted and left[free]:
            left[free] -= 1
            after = (cores - wanted, mem_mib, gpus)
            left[after] = left.get(after, 0) + 1
            return
        if not wanted:
            return


def _ends_before_head(answer: Answer, demand: Demand) -> bool:
    return answer.head_in_s is not None and demand.walltime_s <= answer.head_in_s


def _chunk_fits(shape: Shape, demand: Demand) -> bool:
    return shape.cores >= demand.chunk_cores and shape.mem_mib >= demand.mem_mib and shape.gpus >= demand.gpus


def _count(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise AnswerError(f"answer: {name} is {value!r:.40}: must be a whole number from 0 to {_MOST}")
    return value


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or len(value) > _MOST_TEXT or not value.isprintable():
        raise AnswerError(f"answer: {name} is {value!r:.40}: must be printable text of at most {_MOST_TEXT} characters")
    return value


def _shape(value: object) -> Shape:
    if not isinstance(value, (list, tuple)) or len(value) != len(Shape._fields):
        raise AnswerError(f"answer: shape {value!r:.40}: must be [{', '.join(Shape._fields)}]")
    return Shape(*(_count("shape", part) for part in value))
