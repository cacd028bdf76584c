"""A cluster's short form, and the sentence about what was left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.workload.workload import Cluster, describe_skipped


@given(st.integers(1, 1_000_000), st.integers(1, 100_000))
def test_a_cluster_survives_its_short_form(nodes: int, cores_per_node: int) -> None:
    cluster = Cluster(nodes, cores_per_node)
    assert Cluster.parse(str(cluster)) == cluster


def test_a_cluster_counts_its_cores() -> None:
    assert Cluster.parse(" 5832X16 ").cores == 93312


@pytest.mark.parametrize(
    "text", ["", "16", "4x", "x4", "4x4x4", "-4x4", "4.5x2", "four x 4", "4 x 4", "٤x٤", f"{10**99}x1"]
)
def test_a_text_that_is_no_cluster_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be NODESxCORES.*5832x16"):
        Cluster.parse(text)


@pytest.mark.parametrize(
    ("text", "what"), [("0x4", "0 nodes"), ("4x0", "0 cores per node"), ("9999999x1", "9999999 nodes")]
)
def test_a_cluster_beyond_reason_is_refused(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=f"{what}: must be from 1 to"):
        Cluster.parse(text)


def test_nothing_left_out_says_nothing() -> None:
    assert describe_skipped({}, {}) == ""


def test_what_was_left_out_is_reported_with_its_causes_most_frequent_first() -> None:
    counts = {"too large": 1, "not 18 fields": 1200, "no user": 2}
    lines = {"too large": (9,), "not 18 fields": (3, 4, 5), "no user": (6, 7)}
    assert describe_skipped(counts, lines) == (
        "1,203 left out: 1,200 not 18 fields (lines 3, 4, 5, ...), 2 no user (lines 6, 7), 1 too large (line 9)"
    )


def test_causes_without_known_lines_are_still_counted() -> None:
    assert describe_skipped({"too large": 4}, {}) == "4 left out: 4 too large"
