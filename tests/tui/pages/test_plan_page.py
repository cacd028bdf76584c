"""What the plan view says of jobs that wait for one reason is true of each job that it is said of."""

from __future__ import annotations

from collections.abc import Sequence

from tests.policy.clusters import cluster, job, plan_for, run, vnode
from tui.pages.plan_page import waiting_lines
from tui.state.cluster_view import Decision
from tui.text.lines import plain


def told(cores: Sequence[int]) -> str:
    """The line on jobs of so many cores that wait behind the first job in line."""
    jobs = [job("2", "zoe", "8"), *(job(str(number), "bob", str(each)) for number, each in enumerate(cores, start=3))]
    snapshot = cluster([vnode("v1", 8)], jobs, [run("1", "a", "v1=8", 0, 100)])
    (line,) = (line for line in waiting_lines(Decision(snapshot, plan_for(snapshot), (), 0.0), 10) if "3" in line[0][0])
    return plain(line)


def test_jobs_that_differ_are_told_of_one_that_is_named() -> None:
    assert told((4, 5, 4)).startswith("3 4 5, of which 3: needs 4 cores: 0 are idle")
    assert told((4,) * 9).startswith("3 4 5 6 7 8 and 3 more, of which 3: needs 4 cores: 0 are idle")


def test_jobs_that_are_alike_share_a_sentence() -> None:
    assert told((4, 4)).startswith("3 4: needs 4 cores: 0 are idle")
