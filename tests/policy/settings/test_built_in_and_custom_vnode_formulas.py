"""The formulas of P4, each against its own line of docs/policies.md, and what a site's own must keep to."""

from __future__ import annotations

import math

import pytest

from policy.model.job_preferences import RANK_MODES
from policy.settings.built_in_and_custom_vnode_formulas import (
    FORMULAS,
    FormulaError,
    VnodeHeadroom,
    formulas_with,
    ratio_at_least,
    ratio_at_most,
    read_formulas,
    smallest_ratio,
)

HALF = VnodeHeadroom(compute=16, compute_all=32, memory_kib=30, memory_all_kib=40, network=10, network_all=100,
            temperature=45, temperature_most=90)  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("composite", 0.5 + 0.75 + 0.1 - 0.5),
        ("compute", 0.5),
        ("memory", 0.75),
        ("network", 0.1),
        ("stability", 1 - 0.5),
        ("compute+memory", 0.5 + 0.75),
        ("compute+network", 0.5 + 0.1),
        ("memory+network", 0.75 + 0.1),
    ],
)
def test_each_mode_is_its_formula(mode: str, expected: float) -> None:
    assert FORMULAS[mode].value(HALF) == pytest.approx(expected)


def test_only_the_composite_is_raised_by_one_in_the_product() -> None:
    assert {mode: FORMULAS[mode].plus for mode in RANK_MODES if FORMULAS[mode].plus} == {"composite": 1}


def test_the_composite_in_the_product_is_not_negative_on_a_full_vnode_at_its_highest_temperature() -> None:
    full = VnodeHeadroom(0, 32, 0, 40, 0, 100, 90, 90)
    formula = FORMULAS["composite"]
    assert formula.value(full) + formula.plus == 0


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [((), 1), ((1.0,), 1), ((3.0, 1.5, 2.0), 1.5), ((0.5, 4.0), 0.5), ((25.0, 11.0), 10)],
)
def test_compliance_is_the_smallest_ratio_at_most_ten(ratios: tuple[float, ...], expected: float) -> None:
    assert smallest_ratio(*ratios) == expected


@pytest.mark.parametrize(
    ("left", "need", "expected"), [(48, 64, 0.75), (64, 64, 1), (0.25, 0.5, 0.5), (5, 0, 10), (0, 0, 10)]
)
def test_at_least_is_a_ratio_and_nothing_is_met_by_everybody(left: float, need: float, expected: float) -> None:
    assert ratio_at_least(left, need) == expected


@pytest.mark.parametrize(
    ("temperature", "most", "expected"),
    [(50, 75, 1.5), (75, 75, 1), (90, 75, 75 / 90), (0, 75, 10), (-5, 0, 10), (-5, -10, 0), (5, -10, 0)],
)
def test_temperature_below_zero_is_judged_without_a_ratio(temperature: float, most: float, expected: float) -> None:
    assert ratio_at_most(temperature, most) == pytest.approx(expected)


def test_without_formulas_of_a_site_the_built_in_ones_rank() -> None:
    assert formulas_with(()) is FORMULAS


def test_a_site_may_replace_one_priority_by_the_scarcer_of_two() -> None:
    own = read_formulas({"compute+memory": " min(compute, memory) "})
    assert own == (("compute+memory", "min(compute, memory)"),)
    formulas = formulas_with(own)
    assert formulas["compute+memory"].value(HALF) == 0.5
    assert formulas["compute"] is FORMULAS["compute"]


@pytest.mark.parametrize("mode", ["composite", "compute", "memory", "network", "stability", "compute+memory"])
def test_the_built_in_formulas_can_be_written_as_expressions(mode: str) -> None:
    texts = {"composite": "compute + memory + network - temperature", "stability": "1 - temperature"}
    own = read_formulas({mode: texts.get(mode, mode)})
    assert own is not None
    assert formulas_with(own)[mode].value(HALF) == pytest.approx(FORMULAS[mode].value(HALF))


def test_a_formula_that_gives_no_number_off_the_grid_gives_an_unknown_one() -> None:
    own = read_formulas({"memory": "memory / (0.1234 / 0.1234 - 0 * memory)"})
    assert own is not None
    assert math.isnan(formulas_with((("memory", "1 / (memory - 0.75)"),))["memory"].value(HALF))


@pytest.mark.parametrize("data", ["memory", ["memory"], {"memory": 1}, 5])
def test_what_is_no_table_of_texts_is_none_of_ours(data: object) -> None:
    assert read_formulas(data) is None


@pytest.mark.parametrize(
    ("mode", "text", "message"),
    [
        ("speed", "compute", "'speed' is no mode; allowed are composite, compute"),
        ("memory", "-memory", "for 'memory' falls when more is left of memory: 0 at memory 0, -0.25 at memory 0.25"),
        (
            "memory",
            "memory + temperature",
            "rises with temperature: 0.25 at memory 0, temperature 0.25, 0 at memory 0, temperature 0$",
        ),
        ("memory", "memory + 0 * network", "uses network, but its value never depends on it"),
        ("memory", "1 / memory", "gives no number at memory 0"),
        ("memory", "1", "'1' for 'memory' uses none of compute, memory, network, temperature"),
        ("memory", "disk", "'disk' is not allowed in an expression; allowed are numbers, compute, memory, network"),
        ("memory", "memory +", "'memory \\+' is no expression"),
    ],
)
def test_a_formula_that_must_not_rank_vnodes_is_named_with_its_points(mode: str, text: str, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        read_formulas({mode: text})
