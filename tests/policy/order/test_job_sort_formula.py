"""PBS's formula: what it evaluates to, and what is refused by name."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.order.job_sort_formula import KEYWORDS, FormulaError, as_float32, as_float32s, read_formula

NAMES = KEYWORDS | {"ncpus", "walltime"}


def value(text: str, **numbers: float) -> float:
    formula = read_formula(text, NAMES)
    return formula.values({name: [number] for name, number in numbers.items()}, 1)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ncpus * walltime", 80),
        ("5*ncpus - walltime/8 + 2**ncpus", 33.5),
        ("walltime // 3 + walltime % 3 - -ncpus", 12),
        ("sqrt(ncpus) + log(e) + floor(pi)", 6),
        ("max(ncpus, walltime) if ncpus > 2 and not walltime < 0 else 1/0", 20),
        ("ncpus or 1/0", 4),
        ("1 < ncpus < walltime", 1),
        ("min(ncpus, 1, 2) + abs(-3) + round(2.6)", 7),
    ],
)
def test_an_expression_has_the_value_that_python_gives_it(text: str, expected: float) -> None:
    needed = read_formula(text, NAMES).uses
    assert value(text, **{name: {"ncpus": 4, "walltime": 20}[name] for name in needed}) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["1/(ncpus-4)", "log(ncpus-5)", "9**9**9*ncpus", "(ncpus*10.0)**9999"])
def test_a_job_whose_evaluation_fails_has_the_value_zero_and_the_others_theirs(text: str) -> None:
    formula = read_formula(f"({text}) if ncpus == 4 else ncpus", NAMES)
    assert formula.values({"ncpus": [3, 4, 5]}, 3) == [3, 0, 5]


def test_a_failure_in_a_part_that_is_not_needed_is_none() -> None:
    formula = read_formula("walltime/ncpus if ncpus else 7", NAMES)
    assert formula.values({"ncpus": [0, 2], "walltime": [4, 4]}, 2) == [7, 2]


def test_a_value_that_is_no_real_number_is_what_pbs_makes_of_it() -> None:
    assert value("(0-ncpus)**0.5", ncpus=2) == -1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arch + 1", "'arch'"),
        ("__import__('os')", "not evaluated here"),
        ("ncpus.real", "'ncpus.real'"),
        ("[n for n in (1, 2)]", "not evaluated here"),
        ("'a' * ncpus", "not evaluated here"),
        ("max(*[ncpus])", "not evaluated here"),
        ("pow(ncpus, exp=2)", "not evaluated here"),
        ("ncpus +", "no expression"),
        ("1" + "0" * 2000, "too large"),
        ("ncpus+" * 1000 + "1", "characters"),
    ],
)
def test_what_is_no_arithmetic_of_known_names_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(FormulaError, match=words):
        read_formula(text, NAMES)


def test_values_that_differ_by_less_than_32_bits_are_equal() -> None:
    assert as_float32(16777216.0) == as_float32(16777217.0)
    assert list(as_float32s([1e300, -1e300, 0.5])) == [math.inf, -math.inf, 0.5]


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1))
def test_many_jobs_have_the_values_that_each_has_alone(rows: list[tuple[int, int]]) -> None:
    formula = read_formula("walltime/ncpus if walltime > 0 or ncpus else log(walltime)", NAMES)
    columns = {"ncpus": [row[0] for row in rows], "walltime": [row[1] for row in rows]}
    alone = [formula.values({"ncpus": [a], "walltime": [b]}, 1)[0] for a, b in rows]
    assert formula.values(columns, len(rows)) == alone


def test_a_job_whose_evaluation_fails_has_zero_among_any_number_of_others() -> None:
    formula = read_formula("walltime/ncpus", NAMES)
    cores = [number % 1500 for number in range(5000)]
    values = formula.values({"ncpus": cores, "walltime": [60] * len(cores)}, len(cores))
    assert values == [60 / each if each else 0.0 for each in cores]
