"""What a cluster offers to others: free cores less what is promised, with what is reserved for a head kept apart."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.migration.available_to_other_clusters import (
    Answer,
    AnswerError,
    FreeNodes,
    Shape,
    Shortfall,
    find_shortfall,
    make_answer,
    reserved_for_head,
    take,
    take_shapes,
)
from policy.migration.job_demand import Demand

FREE = FreeNodes("pbs", 64, (Shape(3, 8, 100, 0), Shape(1, 4, 50, 2)), earmarked=2, reserved=6, head_in_s=600)


def test_the_arithmetic_of_the_specification() -> None:
    answer = make_answer("b", FREE, [Demand(5)], 8)
    assert (answer.idle, answer.in_flight) == (28, 5)
    assert (answer.avail, answer.avail_before_head, answer.slots) == (28 - 2 - 5 - 6, 28 - 2 - 5, 7)


def test_what_is_promised_never_makes_the_sums_negative() -> None:
    answer = make_answer("b", FREE, [Demand(20), Demand(20)], 1)
    assert (answer.avail, answer.avail_before_head, answer.slots) == (0, 0, 0)


def test_a_job_that_ends_before_the_head_may_use_the_cores_reserved_for_it() -> None:
    answer = make_answer("b", FREE, [], 8)
    assert find_shortfall(answer, Demand(26, walltime_s=600)) is None
    assert find_shortfall(answer, Demand(26, walltime_s=601)) == ("short", 26, 20)


def test_a_short_job_uses_reserved_cores_first_and_a_long_one_does_not() -> None:
    answer = make_answer("b", FREE, [], 8)
    short, long = take(answer, Demand(6, walltime_s=600)), take(answer, Demand(6, walltime_s=601))
    assert (short.avail, short.avail_before_head) == (20, 20)
    assert (long.avail, long.avail_before_head) == (14, 20)


def lack(answer: Answer, demand: Demand) -> Shortfall:
    shortfall = find_shortfall(answer, demand)
    assert shortfall is not None
    return shortfall


def test_what_a_demand_may_lack() -> None:
    answer = make_answer("b", FREE._replace(max_walltime_s=3600), [], 8, arch="v3")
    assert lack(answer, Demand(1, walltime_s=3601)).sentence() == "too long: 3601 s, at most 3600 s there"
    assert lack(answer, Demand(1, arch="v4")).code == "arch"
    assert find_shortfall(answer, Demand(20, 4)) == ("hosts", 4, 3)
    assert find_shortfall(answer, Demand(8, 2, gpus=1)) == ("hosts", 2, 1)
    assert find_shortfall(answer, Demand(16, 2, mem_mib=100)) is None
    assert lack(answer._replace(slots=0), Demand(1)).sentence() == "busy with uploads"


def test_chunks_are_taken_from_the_hosts_with_the_fewest_cores_that_do() -> None:
    assert take_shapes(FREE.shapes, Demand(8, 2, mem_mib=10)) == (Shape(1, 4, 90, 0), Shape(2, 8, 100, 0))
    assert take_shapes(FREE.shapes, Demand(8, 1)) == (Shape(1, 4, 50, 2), Shape(2, 8, 100, 0))


def test_free_placement_fills_the_smallest_hosts_first() -> None:
    assert take_shapes(FREE.shapes, Demand(6)) == (Shape(1, 6, 100, 0), Shape(2, 8, 100, 0))


def test_the_cores_reserved_for_a_head() -> None:
    assert reserved_for_head(30, 40, 100, [(16, 50), (16, 500)]) == 24
    assert reserved_for_head(10, 40, 100, []) == 10
    assert reserved_for_head(10, 40, 100, [(64, 100)]) == 0


SHAPES = st.lists(st.builds(Shape, st.integers(0, 4), st.integers(0, 8), st.integers(0, 4), st.integers(0, 2)))
DEMANDS = st.builds(
    lambda nodes, chunk, mem, gpus, walltime, free: Demand(chunk, 0, 0, 0, walltime)
    if free
    else Demand(nodes * chunk, nodes, mem, gpus, walltime),
    st.integers(1, 4), st.integers(1, 8), st.integers(0, 4), st.integers(0, 2), st.integers(1, 1000), st.booleans(),
)  # fmt: skip


@given(SHAPES, st.integers(0, 9), st.integers(0, 9), st.integers(0, 900), st.lists(DEMANDS, max_size=12))
def test_an_answer_is_never_over_committed(
    shapes: list[Shape], earmarked: int, reserved: int, head_in_s: int, demands: list[Demand]
) -> None:
    free = FreeNodes("pbs", 99, tuple(shapes), earmarked, reserved, head_in_s)
    answer = make_answer("b", free, [], 5)
    first, placed = answer, []
    for demand in demands:
        if find_shortfall(answer, demand) is None:
            answer = take(answer, demand)
            placed.append(demand)
    cores = sum(demand.cores for demand in placed)
    assert cores <= first.avail_before_head <= max(0, free.idle - earmarked)
    assert sum(demand.cores for demand in placed if demand.walltime_s > head_in_s) <= first.avail
    assert sum(shape.nodes * shape.cores for shape in answer.shapes) == free.idle - cores
    assert all(part >= 0 for shape in answer.shapes for part in shape)
    assert len(placed) <= 5
    assert 0 <= answer.avail <= answer.avail_before_head


@given(SHAPES, st.lists(DEMANDS, max_size=6), DEMANDS)
def test_an_answer_only_shrinks(shapes: list[Shape], demands: list[Demand], last: Demand) -> None:
    answer = make_answer("b", FreeNodes("pbs", 99, tuple(shapes), head_in_s=500), [], 9)
    lacked = find_shortfall(answer, last) is not None
    for demand in demands:
        if find_shortfall(answer, demand) is None:
            answer = take(answer, demand)
    assert not lacked or find_shortfall(answer, last) is not None


@given(SHAPES, st.lists(DEMANDS, max_size=3))
def test_an_answer_is_read_as_it_was_written(shapes: list[Shape], demands: list[Demand]) -> None:
    answer = make_answer("b", FreeNodes("slurm", 99, tuple(shapes)), demands, 4, arch="v3", time=7, version="1.2")
    assert Answer.from_data(answer.to_data()) == answer


GOOD = make_answer("b", FREE, [], 8).to_data()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"v": 2}, "v is 2: must be 1"),
        ({"cores": -1}, "cores is -1"),
        ({"avail": True}, "avail is True"),
        ({"avail": "9"}, "avail is '9'"),
        ({"avail": 10**16}, "avail is 1000"),
        ({"cluster": "b\x1b[2J"}, "cluster is"),
        ({"cluster": None}, "cluster is None"),
        ({"shapes": [[1, 2, 3]]}, "shape "),
        ({"shapes": [[1, 2, 3, None]]}, "shape is None"),
        ({"shapes": 5}, "shapes is 5"),
        ({"head_in_s": -3}, "head_in_s is -3"),
    ],
)
def test_an_answer_that_is_none_is_refused_by_field(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(AnswerError, match=problem.replace("[", r"\[")):
        Answer.from_data({**GOOD, **change})
    with pytest.raises(AnswerError, match="must be an object"):
        Answer.from_data([change])
