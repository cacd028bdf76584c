"""The formulas that rank vnodes, as a table that a site can change (docs/policies.md, P4).

A priority is computed from what is left of a vnode, by one formula for each mode. Compliance is computed from the
ratios of what is left to what a job requires. A priority must not fall when more is left, nor rise with the
temperature; :func:`check_formulas` tests a site's own formulas for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Callable, NamedTuple

from policy.model.preferences import RANK_MODES

QUANTITIES = ("compute", "memory", "network", "temperature")
"""What a vnode is measured by: amounts left for the first three, its temperature for the last."""

UNKNOWN = math.nan
MOST_COMPLIANCE = 10.0


class FormulaError(ValueError):
    """A formula is not fit to rank vnodes; the message names it and the two points that show why."""


class Left(NamedTuple):
    """What is left of a vnode (A, B, C), its temperature (D), and the total or highest of each; ``nan`` if unknown."""

    compute: float = UNKNOWN
    compute_all: float = UNKNOWN
    memory_kib: float = UNKNOWN
    memory_all_kib: float = UNKNOWN
    network: float = UNKNOWN
    network_all: float = UNKNOWN
    temperature: float = UNKNOWN
    temperature_most: float = UNKNOWN

    @staticmethod
    def place_of(quantity: str) -> int:
        """The index of what is left of one of :data:`QUANTITIES`; its total follows."""
        return 2 * QUANTITIES.index(quantity)

    def of(self, quantity: str) -> float:
        """What is left of one of :data:`QUANTITIES`, or the temperature."""
        return self[self.place_of(quantity)]


class Formula(NamedTuple):
    """A priority: the quantities it uses, the function, and a constant ``plus`` that keeps the product with the
    compliance from being negative. The function is called only if all these are known; others are ``nan``."""

    uses: tuple[str, ...]
    value: Callable[[Left], float]
    plus: float = 0.0


class Formulas(NamedTuple):
    """One formula for each of :data:`~policy.model.preferences.RANK_MODES`, and compliance: a function of the ratios of
    the given requirements, which is 1 or more exactly if every ratio is."""

    priorities: Mapping[str, Formula]
    compliance: Callable[..., float]

    def replaced(self, **priorities: Formula) -> Formulas:
        """These formulas with some priorities replaced by a site's own; ``+`` in a mode is written ``_``
        (``compute_memory``).

        Raises :class:`FormulaError` for an unknown mode.
        """
        named = {mode.replace("+", "_"): mode for mode in RANK_MODES}
        for name in priorities:
            if name not in named:
                raise FormulaError(f"formula {name!r}: allowed are {', '.join(named)}")
        own = {named[name]: formula for name, formula in priorities.items()}
        return self._replace(priorities=MappingProxyType({**self.priorities, **own}))


def smallest_ratio(*ratios: float) -> float:
    """U: the smallest ratio, at most 10; 1 if nothing is required (docs/policies.md, P4)."""
    return min(MOST_COMPLIANCE, *ratios) if ratios else 1.0


def ratio_at_least(left: float, need: float) -> float:
    """B/M, A/F and C/C_req: 1 or more if enough is left. The maximum if the requirement is 0."""
    return left / need if need > 0 else MOST_COMPLIANCE


def ratio_at_most(temperature: float, most: float) -> float:
    """T/D: 1 or more if it is cool enough. At 0 degrees and below, where the ratio has no meaning: the maximum, or
    0."""
    if temperature > 0:
        return max(0.0, most / temperature)
    return MOST_COMPLIANCE if temperature <= most else 0.0


def _compute(left: Left) -> float:
    return left.compute / left.compute_all


def _memory(left: Left) -> float:
    return left.memory_kib / left.memory_all_kib


def _network(left: Left) -> float:
    return left.network / left.network_all


def _stability(left: Left) -> float:
    return 1 - left.temperature / left.temperature_most


def _composite(left: Left) -> float:
    return (
        left.compute / left.compute_all
        + left.memory_kib / left.memory_all_kib
        + left.network / left.network_all
        - left.temperature / left.temperature_most
    )


FORMULAS = Formulas(
    MappingProxyType(
        {
            "composite": Formula(QUANTITIES, _composite, plus=1.0),
            "compute": Formula(("compute",), _compute),
            "memory": Formula(("memory",), _memory),
            "network": Formula(("network",), _network),
            "stability": Formula(("temperature",), _stability),
            "compute+memory": Formula(("compute", "memory"), lambda left: _compute(left) + _memory(left)),
            "compute+network": Formula(("compute", "network"), lambda left: _compute(left) + _network(left)),
            "memory+network": Formula(("memory", "network"), lambda left: _memory(left) + _network(left)),
        }
    ),
    smallest_ratio,
)
"""E, F, G, H, I and the three sums of docs/policies.md, P4, and U."""


_GRID = (0.0, 0.25, 0.5, 0.75, 1.0)
_SCALES = ((32.0, 2.0**26, 100.0, 90.0), (5e12, 2.0**31, 12.5e9, 105.0))
"""Totals of two kinds of vnode: in cores and gigabits; in operations and bytes per second."""
_RATIOS = (0.0, 0.5, 0.99, 1.0, 1.01, 2.0, 20.0)


def check_formulas(formulas: Formulas) -> None:
    """Test a site's formulas on a grid of points: each must give a number everywhere, never fall when more compute,
    memory or network is left, never rise with the temperature, and depend somewhere on every quantity that it uses.

    Raises :class:`FormulaError` naming the formula and the two points.
    """
    for mode in RANK_MODES:
        formula = formulas.priorities.get(mode)
        if formula is None:
            raise FormulaError(f"formula {mode!r} is missing; there is one for each of {', '.join(RANK_MODES)}")
        unknown = [name for name in formula.uses if name not in QUANTITIES]
        if unknown or not formula.uses:
            raise FormulaError(f"formula {mode!r} uses {unknown or 'nothing'}; allowed are {', '.join(QUANTITIES)}")
        for quantity in formula.uses:
            _check_priority(mode, formula, quantity)
    for count in range(len(QUANTITIES) + 1):
        _check_compliance(formulas.compliance, count)


def _check_priority(mode: str, formula: Formula, quantity: str) -> None:
    better = -1 if quantity == "temperature" else 1
    answers: tuple[Left, Left] | None = None
    alike: tuple[Left, Left] | None = None
    for worse_point, better_point in _pairs(formula.uses, quantity):
        worse_value, better_value = (_number(mode, formula.value, point) for point in (worse_point, better_point))
        if better_value < worse_value:
            way = "falls when more is left of" if better > 0 else "rises with"
            raise FormulaError(
                f"formula {mode!r} {way} {quantity}: {worse_value!r} at {_show(worse_point)},"
                f" {better_value!r} at {_show(better_point)}"
            )
        alike = alike or (worse_point, better_point)
        if better_value > worse_value:
            answers = (worse_point, better_point)
    if answers is None and alike is not None:
        raise FormulaError(
            f"formula {mode!r} uses {quantity} but never answers to it: the same at {_show(alike[0])}"
            f" and at {_show(alike[1])}"
        )


def _pairs(uses: tuple[str, ...], quantity: str) -> Iterator[tuple[Left, Left]]:
    """Points of the grid one step apart in a quantity, the worse one first; quantities not used are ``nan``."""
    others = [name for name in uses if name != quantity]
    steps = list(zip(_GRID, _GRID[1:]))
    for scale, filled, (low, high) in product(_SCALES, product(_GRID, repeat=len(others)), steps):
        at = dict(zip(others, filled))
        worse, better = (high, low) if quantity == "temperature" else (low, high)
        yield _point({**at, quantity: worse}, scale), _point({**at, quantity: better}, scale)


def _point(filled: Mapping[str, float], scale: tuple[float, ...]) -> Left:
    pairs = (
        (filled[name] * most, most) if name in filled else (UNKNOWN, UNKNOWN) for name, most in zip(QUANTITIES, scale)
    )
    return Left(*(number for pair in pairs for number in pair))


def _show(left: Left) -> str:
    known = zip(QUANTITIES, left[::2], left[1::2])
    return "(" + ", ".join(f"{name} {here:g} of {most:g}" for name, here, most in known if not math.isnan(most)) + ")"


def _number(name: str, function: Callable[[Left], float], point: Left) -> float:
    return _value(f"formula {name!r} at {_show(point)}", lambda: function(point))


def _value(what: str, ask: Callable[[], float]) -> float:
    """The value of a site's function. Raises FormulaError unless it is a finite number."""
    try:
        value = ask()
    except Exception as error:
        raise FormulaError(f"{what}: {type(error).__name__}: {error}") from error
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise FormulaError(f"{what} gives {value!r}; allowed is a finite number")
    return value


def _check_compliance(compliance: Callable[..., float], count: int) -> None:
    """Test it with ``count`` requirements: 1 if all are just met, at least 1 exactly if all are met, never falling."""

    def at(ratios: tuple[float, ...]) -> float:
        return _value(f"formula 'compliance' at {ratios}", lambda: compliance(*ratios))

    just = at((1.0,) * count)
    if just != 1:
        raise FormulaError(f"formula 'compliance' gives {just!r} at {(1.0,) * count}; allowed is 1, all are just met")
    for ratios in product(_RATIOS, repeat=count):
        value = at(ratios)
        if (value >= 1) != (min(ratios, default=1.0) >= 1):
            raise FormulaError(
                f"formula 'compliance' gives {value!r} at {ratios}; allowed is 1 or more exactly where all are"
            )
        for place, ratio in enumerate(ratios):
            for higher in _RATIOS[_RATIOS.index(ratio) + 1 :][:1]:
                raised = (*ratios[:place], higher, *ratios[place + 1 :])
                if at(raised) < value:
                    raise FormulaError(
                        f"formula 'compliance' falls when a ratio rises: {value!r} at {ratios},"
                        f" {at(raised)!r} at {raised}"
                    )
