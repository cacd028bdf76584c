"""The formulas of P4, each against its own line of docs/policies.md, and what a site's own must keep to."""

from __future__ import annotations

import pytest

from policy.model.preferences import RANK_MODES
from policy.ranking.score_formulas import (
    FORMULAS,
    Formula,
    FormulaError,
    Formulas,
    Left,
    check_formulas,
    ratio_at_least,
    ratio_at_most,
    smallest_ratio,
)

HALF = Left(compute=16, compute_all=32, memory_kib=30, memory_all_kib=40, network=10, network_all=100,
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
    assert FORMULAS.priorities[mode].value(HALF) == pytest.approx(expected)


def test_only_the_composite_is_raised_by_one_in_the_product() -> None:
    assert {mode: FORMULAS.priorities[mode].plus for mode in RANK_MODES if FORMULAS.priorities[mode].plus} == {
        "composite": 1
    }


def test_the_composite_in_the_product_is_not_negative_on_a_full_vnode_at_its_highest_temperature() -> None:
    full = Left(0, 32, 0, 40, 0, 100, 90, 90)
    formula = FORMULAS.priorities["composite"]
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


def test_the_formulas_that_come_with_it_pass_the_check() -> None:
    check_formulas(FORMULAS)


def test_a_site_may_replace_one_priority_by_the_scarcer_of_two() -> None:
    own = FORMULAS.replaced(
        compute_memory=Formula(
            ("compute", "memory"),
            lambda left: min(left.compute / left.compute_all, left.memory_kib / left.memory_all_kib),
        )
    )
    check_formulas(own)
    assert own.priorities["compute+memory"].value(HALF) == 0.5
    assert own.priorities["compute"] is FORMULAS.priorities["compute"]


def test_replacing_what_is_no_mode_is_refused() -> None:
    with pytest.raises(FormulaError, match="formula 'speed': allowed are composite, compute"):
        FORMULAS.replaced(speed=Formula(("compute",), lambda left: left.compute))


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (
            Formula(("memory",), lambda left: -left.memory_kib),
            r"'memory' falls when more is left of memory: -?0\.0 at \(memory 0 of .*\), -\d.* at \(memory",
        ),
        (
            Formula(("memory", "temperature"), lambda left: left.memory_kib + left.temperature),
            r"'memory' rises with temperature: .* at \(memory 0 .*, temperature 22\.5 of 90\), .*temperature 0 of 90",
        ),
        (Formula(("memory",), lambda left: 1.0), r"'memory' uses memory but never answers to it: .*\(memory 0 of"),
        (Formula(("memory",), lambda left: left.network), r"'memory' at \(memory 0 of .*\) gives nan"),
        (Formula(("memory",), lambda left: 1 / left.memory_kib), r"'memory' at \(memory 0 .*ZeroDivisionError"),
        (Formula((), lambda left: 1.0), "'memory' uses nothing; allowed are compute, memory"),
        (Formula(("disk",), lambda left: 1.0), r"'memory' uses \['disk'\]; allowed are compute, memory"),
    ],
)
def test_a_formula_that_must_not_rank_vnodes_is_named_with_its_points(formula: Formula, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        check_formulas(FORMULAS.replaced(memory=formula))


def test_a_missing_mode_is_named() -> None:
    with pytest.raises(FormulaError, match="'composite' is missing"):
        check_formulas(Formulas({}, smallest_ratio))


@pytest.mark.parametrize(
    ("compliance", "message"),
    [
        (lambda *ratios: sum(ratios) / len(ratios) if ratios else 1.0, "allowed is 1 or more exactly where all are"),
        (lambda *ratios: 2.0, r"gives 2.0 at \(\); allowed is 1, all are just met"),
        (lambda *ratios: min(ratios), r"at \(\): ValueError"),
        (lambda *ratios: float("nan"), r"at \(\) gives nan; allowed is a finite number"),
        (
            lambda *ratios: 1.0 if min(ratios, default=1) >= 1 else 0.9 - min(ratios) / 2,
            r"falls when a ratio rises: 0.9 at \(0.0,\), 0.65 at \(0.5,\)",
        ),
    ],
)
def test_a_compliance_of_a_sites_own_keeps_its_meaning(compliance: object, message: str) -> None:
    with pytest.raises(FormulaError, match=f"'compliance'.*{message}"):
        check_formulas(FORMULAS._replace(compliance=compliance))  # type: ignore[arg-type]
