"""The formulas that rank vnodes, and a site's own in their place (docs/policies.md, P4).

A priority is computed from what is left of a vnode, by one formula for each mode; compliance from the ratios of what is
left to what a job requires. A priority must not fall when more is left, nor rise with the temperature, for which a
site's own formulas are tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from types import MappingProxyType
from typing import Callable, NamedTuple

from policy.model.job_preferences import RANK_MODES
from policy.settings.arithmetic_expression import ExpressionError, read_expression

QUANTITIES = ("compute", "memory", "network", "temperature")
"""What a vnode is measured by: amounts left for the first three, its temperature for the last."""

UNKNOWN = math.nan
MOST_COMPLIANCE = 10.0


class FormulaError(ValueError):
    """A formula is not fit to rank vnodes; the message names it and the points that show why."""


class VnodeHeadroom(NamedTuple):
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
    value: Callable[[VnodeHeadroom], float]
    plus: float = 0.0


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


def _compute(left: VnodeHeadroom) -> float:
    return left.compute / left.compute_all


def _memory(left: VnodeHeadroom) -> float:
    return left.memory_kib / left.memory_all_kib


def _network(left: VnodeHeadroom) -> float:
    return left.network / left.network_all


def _stability(left: VnodeHeadroom) -> float:
    return 1 - left.temperature / left.temperature_most


def _composite(left: VnodeHeadroom) -> float:
    return (
        left.compute / left.compute_all
        + left.memory_kib / left.memory_all_kib
        + left.network / left.network_all
        - left.temperature / left.temperature_most
    )


FORMULAS: Mapping[str, Formula] = MappingProxyType(
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
)
"""E, F, G, H, I and the three sums of docs/policies.md, P4, and U."""

Own = tuple[tuple[str, str], ...]
"""A site's own formulas: modes with their expressions, in the order of the modes."""


def read_formulas(data: object) -> Own | None:
    """The formulas of a settings file, from a table of modes to expressions; None if it is none.

    Raises :class:`FormulaError` for a mode that there is not, for an expression that cannot be read, and for a formula
    that is not fit to rank vnodes.
    """
    if not isinstance(data, Mapping) or not all(isinstance(text, str) for text in data.values()):
        return None
    for mode in data:
        if mode not in RANK_MODES:
            raise FormulaError(f"{mode!r} is no mode; allowed are {', '.join(RANK_MODES)}")
    own = tuple((mode, data[mode].strip()) for mode in RANK_MODES if mode in data)
    for mode, text in own:
        formula = _formula(text)
        if not formula.uses:
            raise FormulaError(f"{text!r} for {mode!r} uses none of {', '.join(QUANTITIES)}")
        for quantity in formula.uses:
            _check(mode, formula, quantity)
    return own


@lru_cache(maxsize=8)
def formulas_with(own: Own) -> Mapping[str, Formula]:
    """The built-in formulas with a site's own in their place."""
    return MappingProxyType({**FORMULAS, **{mode: _formula(text) for mode, text in own}}) if own else FORMULAS


def _formula(text: str) -> Formula:
    """A formula whose names are the parts that are left, and how much of the highest temperature is reached."""
    try:
        expression = read_expression(text, QUANTITIES)
    except ExpressionError as error:
        raise FormulaError(str(error)) from None
    places = [(name, VnodeHeadroom.place_of(name)) for name in expression.uses]

    def value(left: VnodeHeadroom) -> float:
        try:
            return expression.value({name: left[place] / left[place + 1] for name, place in places})
        except ZeroDivisionError:
            return UNKNOWN

    return Formula(expression.uses, value)


_GRID = (0.0, 0.25, 0.5, 0.75, 1.0)
_ALL_OF_IT = (32.0, 2.0**26, 100.0, 90.0)


def _check(mode: str, formula: Formula, quantity: str) -> None:
    """Test a formula on a grid of points: it must give a number everywhere, never fall when more compute, memory or
    network is left, never rise with the temperature, and depend somewhere on every quantity that it uses."""
    better = -1 if quantity == "temperature" else 1
    depends = False
    for worse_point, better_point in _pairs(formula.uses, quantity):
        worse_value, better_value = (_number(mode, formula.value, point) for point in (worse_point, better_point))
        if better_value < worse_value:
            way = "falls when more is left of" if better > 0 else "rises with"
            raise FormulaError(
                f"the formula for {mode!r} {way} {quantity}: {worse_value + 0:g} at {_show(worse_point)},"
                f" {better_value + 0:g} at {_show(better_point)}"
            )
        depends = depends or better_value > worse_value
    if not depends:
        raise FormulaError(f"the formula for {mode!r} uses {quantity}, but its value never depends on it")


def _pairs(uses: tuple[str, ...], quantity: str) -> Iterator[tuple[VnodeHeadroom, VnodeHeadroom]]:
    """Points of the grid one step apart in a quantity, the worse one first; quantities not used are ``nan``."""
    others = [name for name in uses if name != quantity]
    for filled, (low, high) in product(product(_GRID, repeat=len(others)), zip(_GRID, _GRID[1:])):
        at = dict(zip(others, filled))
        worse, better = (high, low) if quantity == "temperature" else (low, high)
        yield _point({**at, quantity: worse}), _point({**at, quantity: better})


def _point(filled: Mapping[str, float]) -> VnodeHeadroom:
    pairs = ((filled.get(name, UNKNOWN) * most, most) for name, most in zip(QUANTITIES, _ALL_OF_IT))
    return VnodeHeadroom(*(number for pair in pairs for number in pair))


def _show(left: VnodeHeadroom) -> str:
    parts = ((name, here / most) for name, here, most in zip(QUANTITIES, left[::2], left[1::2]))
    return ", ".join(f"{name} {part:g}" for name, part in parts if not math.isnan(part))


def _number(mode: str, function: Callable[[VnodeHeadroom], float], point: VnodeHeadroom) -> float:
    """The value at a point. Raises FormulaError unless it is a finite number."""
    value = function(point)
    if not math.isfinite(value):
        raise FormulaError(f"the formula for {mode!r} gives no number at {_show(point)}")
    return value
