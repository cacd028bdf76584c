"""Seconds that the site's own order adds to a pass: a fair share tree of 5,000 users, and 100,000 jobs to be sorted."""

from __future__ import annotations

import gc
import random
import time
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from hooks.pbs.files_and_output.fair_share_files import format_usage, read_groups, read_usage
from policy import Job, Ledger, Queue, Request, Settings, Snapshot, Vnode, decide
from policy.model.allocation import parse_exec_vnode
from policy.model.jobs_runs_vnodes_queues import Run
from policy.order.fair_share_tree import FairShareTree
from policy.order.job_sort_formula import KEYWORDS, read_formula
from policy.order.site_order_settings import FairShare, SiteOrder, SortKey

USERS, GROUPS, QUEUED, PASSES = 5_000, 50, 100_000, 3
NEEDS = ("queue_rank", "eligible_time", "ncpus", "job_priority", "walltime")
FORMULA = "5*job_priority + 10*eligible_time/3600 + queue_priority*100 - ncpus*walltime/3600.0 + 100*fairshare_factor"
NUMBERS = KEYWORDS | {"ncpus", "walltime"}
CORES = 1_000


def files() -> tuple[str, str]:
    """The texts of the two files of fair share."""
    draw = random.Random(2)
    lines = [f"g{number} {number + 10} root {draw.randint(1, 20)}" for number in range(GROUPS)]
    lines += [f"u{number} {number + 100} g{number % GROUPS} {draw.randint(1, 9)}" for number in range(USERS)]
    usage = format_usage(((f"u{number}", draw.uniform(1, 1e7)) for number in range(USERS)), 1_700_000_000)
    return "\n".join(lines), usage.decode("latin-1")


def read_tree(texts: tuple[str, str]) -> FairShareTree:
    usage, decayed_s = read_usage(texts[1])
    return FairShareTree(read_groups(texts[0]), 10, usage, (), decayed_s)


def waiting() -> list[Job]:
    draw = random.Random(3)
    requests = [Request.of_cores(cores) for cores in (1, 2, 4, 8, 16)]
    jobs = []
    for number in range(QUEUED):
        user, request = f"u{draw.randrange(USERS)}", draw.choice(requests)
        values = (number, draw.randrange(90_000), request.cores, draw.randint(-50, 50), 3600)
        jobs.append(
            Job(f"{number}.s", user, request, "workq", float(number), 3600.0, sequence=number, entity=user,
                order_values=values)
        )  # fmt: skip
    return jobs


def seconds_of_pass(jobs: list[Job], order: SiteOrder | None) -> float:
    """The CPU time to decide a pass over a cluster with few idle cores."""
    allocation = parse_exec_vnode(f"(v1:ncpus={CORES - 40})")
    run = Run("r.s", Job("r.s", "u1", Request.of_cores(CORES - 40), "workq", 0.0), 0.0, allocation, 5000.0)
    snapshot = Snapshot.build(
        100_000.0, [Vnode("v1", {"ncpus": CORES})], [Queue("workq", order=order)], jobs, [run]
    )  # fmt: skip
    gc.collect()
    began_s = time.process_time()
    decide(snapshot, Ledger(), Settings())
    return time.process_time() - began_s


@pytest.mark.parametrize("kind", ["by queue", "sort keys", "formula", "fair share", "formula and fair share"])
def test_what_the_sites_order_adds_to_a_pass(benchmark: BenchmarkFixture, kind: str) -> None:
    texts, jobs = files(), waiting()
    without_s, with_s, reading_s = [], [], []

    def passes() -> None:
        for _ in range(PASSES):
            began_s = time.process_time()
            tree = read_tree(texts)
            reading_s.append(time.process_time() - began_s)
            order = SiteOrder(
                formula=read_formula(FORMULA, NUMBERS) if "formula" in kind else None,
                fair_share=FairShare(tree, read_formula("ncpus*walltime", NUMBERS)) if "share" in kind else None,
                keys=(SortKey("ncpus", True),) if kind == "sort keys" else (),
                tree=tree,
                needs=NEEDS,
            )
            without_s.append(seconds_of_pass(jobs, None))
            with_s.append(seconds_of_pass(jobs, order))

    benchmark.pedantic(passes, rounds=1)  # type: ignore[no-untyped-call]  # the library's own
    added_s = median(with_s) - median(without_s)
    print(  # noqa: T201 - a figure is there to be read
        f"\n{kind}, {QUEUED:,} queued, {USERS:,} users: {median(without_s):.2f} s by age, {added_s:+.2f} s;"
        f" reading the tree {median(reading_s):.2f} s"
    )
