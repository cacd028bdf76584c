"""The ledger: what is remembered between passes (promises, earmarks, preemption counts, classes, what was learned); a
value, of which each pass makes the next.

On disk it is plain data with a version: older versions are read, a newer one is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Callable, Final, NamedTuple, TypeVar

from policy.model.allocation import Allocation, Cores, parse_exec_vnode
from policy.model.request_when_promised import RequestWhenPromised
from policy.values.value_made_often import ValueMadeOften

VERSION = 3

_LATEST_S = 1e15
_NEVER_S = float("inf")
_NOTHING: Mapping[str, Any] = MappingProxyType({})

T = TypeVar("T")

QUOTA, CLASS, PROMISE, RESCUE = "quota", "class", "promise", "rescue"
"""The rules that choose victims."""


class LedgerError(ValueError):
    """Data that is no ledger of a known version; the message says what is wrong."""


class Earmark(NamedTuple):
    """Resources that only a beneficiary may take until its victims have released theirs: its allocation, the victims,
    and since when.

    ``rule`` is the one that chose the victims: quota, class, promise or rescue.
    """

    allocation: Allocation
    victims: tuple[str, ...]
    since_s: float
    rule: str = QUOTA


class Backfilled(ValueMadeOften):
    """A run that started by backfilling: its end by the estimate that it was tested with, and whether it may be cut."""

    __slots__ = ("cuttable", "end_s")

    def __init__(
        self,
        end_s: float,
        cuttable: bool = False,
    ) -> None:
        self.end_s: Final = end_s
        self.cuttable: Final = cuttable


class History(NamedTuple):
    """A user's past runs: the last two run times, and the sums of run times and of estimates."""

    last: tuple[float, ...]
    run_s: float
    estimate_s: float


class Tally(NamedTuple):
    """How many runs were seen, and what was measured on the last of them."""

    runs: int
    last: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of what was measured; 0 without runs. Outliers among fewer than half of the runs do not move it
        far."""
        ordered, middle = sorted(self.last), len(self.last) // 2
        return (ordered[middle] + ordered[-middle - 1]) / 2 if ordered else 0.0


class Cut(NamedTuple):
    """The last preemption of a job: when, and the reason's code and numbers."""

    at_s: float
    code: str
    numbers: tuple[tuple[str, Any], ...]


class Moved(NamedTuple):
    """A head whose promise moved: the first start it was promised, how often it moved, and for which job last."""

    first_s: float
    times: int
    beneficiary: str


class Ledger(ValueMadeOften):
    """What is remembered, each part by id or name.

    ``promises``: head job to its first shadow time. ``earmarks``: beneficiary to its earmark. ``preemptions``: job to
    how often it was preempted. ``backfilled``: the runs that started by backfilling. ``classes``: run to the class it
    started in (P2). ``history``: user to past runs (P3's predictor). ``learned``: user and application to layout to
    what was measured (P5). ``stripes``: vnode to the last start of a stripe on it (P5). ``seen_s``: until when ended
    runs were learned from. ``cuts``: preempted job to its last preemption. ``cores``: run to its list of cores (P4).
    ``asked``: job with a promise or an earmark to what it requested when it got that. ``moved``: waiting job to how its
    promise moved for jobs with a better claim.

    Two numbers serve a pass after one that ran out of time: ``first_behind`` is which of the jobs behind the heads is
    tried first; ``tried_in_vain`` is how many of the other jobs, tried in vain by that pass, are tried last.
    """

    __slots__ = (
        "asked", "backfilled", "classes", "cores", "cuts", "earmarks", "first_behind", "history", "learned",
        "moved", "preemptions", "promises", "seen_s", "stripes", "tried_in_vain",
    )  # fmt: skip

    def __init__(
        self,
        promises: Mapping[str, float] = _NOTHING,
        earmarks: Mapping[str, Earmark] = _NOTHING,
        preemptions: Mapping[str, int] = _NOTHING,
        backfilled: Mapping[str, Backfilled] = _NOTHING,
        classes: Mapping[str, int] = _NOTHING,
        history: Mapping[str, History] = _NOTHING,
        learned: Mapping[str, Mapping[str, Tally]] = _NOTHING,
        stripes: Mapping[str, float] = _NOTHING,
        seen_s: float = 0.0,
        cuts: Mapping[str, Cut] = _NOTHING,
        cores: Mapping[str, Cores] = _NOTHING,
        first_behind: int = 0,
        tried_in_vain: int = 0,
        asked: Mapping[str, RequestWhenPromised] = _NOTHING,
        moved: Mapping[str, Moved] = _NOTHING,
    ) -> None:
        self.promises: Final = promises
        self.earmarks: Final = earmarks
        self.preemptions: Final = preemptions
        self.backfilled: Final = backfilled
        self.classes: Final = classes
        self.history: Final = history
        self.learned: Final = learned
        self.stripes: Final = stripes
        self.seen_s: Final = seen_s
        self.cuts: Final = cuts
        self.cores: Final = cores
        self.first_behind: Final = first_behind
        self.tried_in_vain: Final = tried_in_vain
        self.asked: Final = asked
        self.moved: Final = moved

    @property
    def has_more_than_promises(self) -> bool:
        """Whether it has entries of preemption, classes, ranking or striping, or of moved promises, besides promises,
        backfilled runs and what was learned."""
        return bool(
            self.preemptions or self.cuts or self.earmarks or self.classes or self.moved or self.stripes or self.cores
        )

    def to_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "version": VERSION,
            "promises": dict(self.promises),
            "holds": {
                job: {
                    "exec_vnode": earmark.allocation.exec_vnode(),
                    "victims": list(earmark.victims),
                    "since_s": earmark.since_s,
                    "rule": earmark.rule,
                }
                for job, earmark in self.earmarks.items()
            },
            "preemptions": dict(self.preemptions),
            "backfilled": {
                run: [None if entry.end_s == _NEVER_S else entry.end_s, entry.cuttable]
                for run, entry in self.backfilled.items()
            },
            "classes": dict(self.classes),
            "history": {user: [list(past.last), past.run_s, past.estimate_s] for user, past in self.history.items()},
            "learned": {
                key: {layout: [tally.runs, list(tally.last)] for layout, tally in tallies.items()}
                for key, tallies in self.learned.items()
            },
            "stripes": dict(self.stripes),
            "seen_s": self.seen_s,
            "cuts": {
                run: [cut.at_s, cut.code, [[name, _finite(value)] for name, value in cut.numbers]]
                for run, cut in self.cuts.items()
            },
            "cores": {
                run: {vnode: list(numbers) for vnode, numbers in cores.items()} for run, cores in self.cores.items()
            },
            "first_behind": self.first_behind,
            "tried_in_vain": self.tried_in_vain,
            "asked": {job: asked.to_data() for job, asked in self.asked.items()},
            "moved": {job: list(moved) for job, moved in self.moved.items()},
        }

    @classmethod
    def from_data(cls, data: object) -> Ledger:
        """Read back what :meth:`to_data` gave, of this version or an earlier one. Raises :class:`LedgerError`.

        Version 1 has the first three parts only. What version 2 learned is dropped: it holds all users' runs together.
        """
        if not isinstance(data, dict):
            raise LedgerError(f"a ledger is an object, this is {type(data).__name__}")
        version = data.get("version")
        if version not in (1, 2, VERSION) or isinstance(version, bool):
            raise LedgerError(f"ledger version {version!r}; this code reads versions 1 to {VERSION}")
        try:
            first = cls(
                _each(data["promises"], _time_s),
                _each(data["holds"], _read_earmark),
                _each(data["preemptions"], _count),
            )
            if version == 1:
                return first
            return first._replace(
                backfilled=_each(data["backfilled"], _backfilled),
                classes=_each(data["classes"], _class),
                history=_each(data["history"], _history),
                learned={} if version == 2 else _each(data["learned"], lambda tallies: _each(tallies, _tally)),
                stripes=_each(data["stripes"], _time_s),
                seen_s=_time_s(data["seen_s"]),
                cuts=_each(data["cuts"], _cut),
                cores=_each(data["cores"], lambda cores: _each(cores, _core_numbers)),
                first_behind=_count(data.get("first_behind", 0)),
                tried_in_vain=_count(data.get("tried_in_vain", 0)),
                asked=_each(data.get("asked", {}), RequestWhenPromised.from_data),
                # Not in every ledger of this version.
                moved=_each(data.get("moved", {}), _moved),
            )
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise LedgerError(f"not a ledger: {type(error).__name__}: {error}") from error


def _each(table: Any, read: Callable[[Any], T]) -> dict[str, T]:
    return {str(key): read(value) for key, value in table.items()}


def _read_earmark(earmark: Any) -> Earmark:
    allocation, rule = parse_exec_vnode(earmark["exec_vnode"]), earmark.get("rule", QUOTA)
    if not isinstance(rule, str):
        raise TypeError(f"{rule!r} is no rule")
    return Earmark(allocation, _names(earmark["victims"]), _time_s(earmark["since_s"]), rule)


def _time_s(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= _LATEST_S:
        raise ValueError(f"{value!r} is no time; allowed is a number of seconds")
    return float(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is no count; allowed is a whole number, 0 or more")
    return value


def _class(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < -1:
        raise ValueError(f"{value!r} is no class; allowed is a whole number, -1 or more")
    return value


def _backfilled(value: Any) -> Backfilled:
    end_s, cuttable = value
    if not isinstance(cuttable, bool):
        raise TypeError(f"{cuttable!r} is neither true nor false")
    return Backfilled(_NEVER_S if end_s is None else _time_s(end_s), cuttable)


def _finite(value: object) -> object:
    return None if value == _NEVER_S else value


def _cut(value: Any) -> Cut:
    at_s, code, numbers = value
    if not isinstance(code, str):
        raise TypeError(f"{code!r} is no code of a reason")
    read: list[tuple[str, Any]] = []
    for name, number in numbers:
        if number is not None and (isinstance(number, bool) or not isinstance(number, (int, float, str))):
            raise TypeError(f"{number!r} is neither a number nor a text")
        read.append((str(name), _NEVER_S if number is None else number))
    return Cut(_time_s(at_s), code, tuple(read))


def _moved(value: Any) -> Moved:
    first_s, times, beneficiary = value
    if not isinstance(beneficiary, str):
        raise TypeError(f"{beneficiary!r} is no job")
    return Moved(_time_s(first_s), _count(times), beneficiary)


def _history(value: Any) -> History:
    last, run_s, estimate_s = value
    return History(tuple(_time_s(each) for each in last)[-2:], _time_s(run_s), _time_s(estimate_s))


def _tally(value: Any) -> Tally:
    runs, last = value
    return Tally(_count(runs), tuple(_time_s(each) for each in last))


def _core_numbers(value: object) -> tuple[int, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{value!r} is no list of cores")
    return tuple(_count(number) for number in value)


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{value!r} is no list of jobs")
    return tuple(str(name) for name in value)
