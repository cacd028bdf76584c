"""The worked examples and pictures of docs/policies.md: what the page says of them is what the decision gives.

The worked example of P1 is in test_quota_worked_example.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from policy import Changes, Ledger, Plan, Queue, Snapshot, decide
from policy.explain.hostfiles_for_mpi_and_openmp import Lists, lists_of
from policy.explain.job_explanation import explain
from policy.migration.available_to_other_clusters import Answer, FreeNodes, Shape, make_answer
from policy.migration.job_demand import Demand
from policy.migration.place_on_first_free_cluster import PlacingSettings, Request, place
from policy.model.job_preferences import Layout, RankPreference, Requirements
from policy.model.lists_for_programs import Entry, show_entries
from policy.ranking.vnode_ranking_and_requirements import Ranking
from policy.settings.ranking_and_stripe_settings import RankingSettings, StripeSettings
from policy.settings.site_settings import Settings
from sim.figures import example_clusters
from sim.figures.example_clusters import HOUR_S, Example
from sim.replay.named_policies import Policy, resolve
from sim.replay.replay import replay
from sim.workload.generate_parameter_study_jobs import campaign
from sim.workload.workload import Cluster
from tests.policy.clusters import QUEUE, job, run, show_cores, vnode

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")


def decision_lines(plan: Plan) -> list[str]:
    """What the pass decided: a line for each preempted run, start and reason."""
    lines = [f"{preempt.id}  {preempt.reason.sentence(preempt.run.job, plan.time_s)}" for preempt in plan.preempts]
    for start in plan.starts:
        backfilled = ", backfilled" if start.backfilled else ""
        lines.append(f"{start.id}  starts{backfilled}")
    for job_id, (waiting, reason) in plan.reasons().items():
        lines += [f"{job_id}  {one.sentence(waiting, plan.time_s)}" for one in (reason, *reason.tried)]
    return sorted(lines, key=lambda line: line.split()[0])


def assert_printed(lines: Iterable[str]) -> None:
    block = "\n".join(lines)
    assert block
    assert f"\n{block}\n" in PAGE, block


def last_policy(example: Example) -> Policy:
    *_, policy = example.policies.values()
    return policy


# P1


def test_soft_quotas_end_two_hours_before_hard_limits() -> None:
    example = example_clusters.quota()
    hard_s, soft_s = (
        max(record.end_s for record in replay(example.workload, example.cluster, policy).records)
        for policy in example.policies.values()
    )
    assert hard_s - soft_s == 2 * HOUR_S
    assert "everything is done two\nhours earlier" in PAGE


# P2


def test_classes_of_four_jobs() -> None:
    snapshot, lines = example_clusters.four_jobs(full=False), []
    plan = decide(snapshot, Ledger(), example_clusters.ONLY_CLASSES)
    for start in sorted(plan.starts, key=lambda start: start.id):
        page = explain(snapshot, plan, start.id, example_clusters.ONLY_CLASSES).lines
        (about,) = [line.text for line in page if line.label == "class"]
        lines.append(f"{start.id}  {start.job.user} asks for {start.job.cores}: class {about}")
    assert len(lines) == 4
    assert_printed(lines)


def test_what_four_jobs_wait_for() -> None:
    lines = decision_lines(decide(example_clusters.four_jobs(full=True), Ledger(), example_clusters.ONLY_CLASSES))
    assert_printed(line for line in lines if "preempts no job" in line)


@pytest.mark.parametrize("need", [9, 8, 5, 4])
def test_victims_of_the_third_job(need: int) -> None:
    example = example_clusters.priority(need)
    lines = decision_lines(decide(example_clusters.moment(example, 1), Ledger(), last_policy(example).settings))
    assert_printed([f"needs {need}:", *lines])


# P3


def timeline(example: Example, policy: Policy) -> list[str]:
    """When each job of an example runs, in hours and minutes."""
    lines = []
    for record in replay(example.workload, example.cluster, policy).records:
        spans = ", ".join(f"{clock(start_s)} to {clock(end_s)}" for start_s, end_s in record.segments)
        lines.append(f"{example.names[record.job.number]}  {spans}")
    return lines


def clock(at_s: float) -> str:
    return f"{int(at_s // HOUR_S)}:{round(at_s % HOUR_S / 60):02}"


@pytest.mark.parametrize("name", ["easy", "checkpoint"])
def test_timeline_of_a_to_e(name: str) -> None:
    example = example_clusters.window()
    assert_printed([f"--policy {name}", *timeline(example, example.policies[name])])


def passes(example: Example, policy: Policy, later: Sequence[Changes]) -> list[Plan]:
    """The pass at one hour, and those after each of the changes."""
    plans = [decide(example_clusters.moment(example, 1), Ledger(), policy.settings)]
    for changes in later:
        plans.append(decide(plans[-1].started.apply(changes), plans[-1].ledger, policy.settings))
    return plans


def test_reasons_of_a_to_e() -> None:
    example = example_clusters.window()
    a_ends, b_ends = Changes(2 * HOUR_S, gone=["A"]), Changes(6 * HOUR_S, gone=["B", "D"])
    first, easy = passes(example, example.policies["easy"], [a_ends])
    _, second, third = passes(example, example.policies["checkpoint"], [a_ends, b_ends])
    assert_printed(["1:00, both policies", *decision_lines(first)])
    assert_printed(["2:00, easy", *decision_lines(easy)])
    assert_printed(["2:00, checkpoint", *decision_lines(second)])
    assert_printed(["6:00, checkpoint", *decision_lines(third)])


# The rescue


def test_timeline_of_the_rescue() -> None:
    example = example_clusters.rescue()
    for name, policy in example.policies.items():
        assert_printed([f"--policy {name}", *timeline(example, policy)])


def test_reasons_before_and_at_the_rescue() -> None:
    example = example_clusters.rescue()
    settings = last_policy(example).settings
    early = example_clusters.moment(example, 2.5)
    page = explain(early, decide(early, Ledger(), settings), "2", settings).lines
    assert_printed(["2:30", *(f"2  {line.text}" for line in page if line.label in ("waits for", "rescue"))])
    assert_printed(["2:40", *decision_lines(decide(example_clusters.moment(example, 2 + 2 / 3), Ledger(), settings))])


# P4


def test_order_of_ranked_vnodes() -> None:
    index = example_clusters.ranked().cluster()
    ranking = Ranking(index, RankingSettings(), example_clusters.RANKED_AT_S)
    for mode in ("compute+memory", "composite"):
        preference = RankPreference(mode)
        names = [index.capacity.directory.named(bit)[0] for bit in ranking.ordered(preference, -1)]
        scores = [ranking.standing(preference, name).dispatch_score for name in names]
        listed = ", ".join(name if score is None else f"{name} {score:g}" for name, score in zip(names, scores))
        assert_printed([f"{mode}: {listed}"])


def test_ranked_job_starts_and_the_next_waits_for_memory() -> None:
    waiting = (
        example_clusters.ranked_job(8),
        example_clusters.ranked_job(9, Requirements(memory_kib=120 * example_clusters.GIB_KIB)),
    )
    plan = decide(example_clusters.ranked(*waiting), Ledger(), Settings())
    assert plan.starts[0].allocation.vnodes == ("n2", "n4")
    assert_printed(decision_lines(plan))


@pytest.mark.parametrize("form", Lists._fields)
def test_lists_that_programs_read(form: str) -> None:
    eight = example_clusters.ranked_job(8)._replace(rank=example_clusters.RANK_PREFERENCE._replace(detail="core"))
    ledger = Ledger(cores={"7": {"n2": tuple(range(16))}})
    lists = lists_of(decide(example_clusters.ranked(eight), ledger, Settings()), "8")["8"]
    command = f"$ pbsteer explain 8 --list {form.replace('_', '-')}"
    assert_printed([command, *getattr(lists, form).splitlines()])


def test_rows_of_the_table_of_ranked_vnodes() -> None:
    ranking = Ranking(example_clusters.ranked().cluster(), RankingSettings(), example_clusters.RANKED_AT_S)
    for name in ("n2", "n4", "n5", "n1"):
        standing = ranking.standing(example_clusters.RANK_PREFERENCE, name)
        (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {name} |") and "min(" in line]
        _, _, score, compliance, product, *_ = (cell.strip() for cell in row.split("|"))
        assert standing.compliance is not None
        assert score == f"{standing.score:g}"
        assert float(compliance.partition(" = ")[2]) == pytest.approx(standing.compliance, abs=0.0005)
        assert product == ("" if standing.dispatch_score is None else f"{standing.dispatch_score:g}")


def test_order_for_the_next_job_like_the_ranked_one() -> None:
    plan = decide(example_clusters.ranked(example_clusters.ranked_job(8)), Ledger(), Settings())
    index = plan.started.cluster()
    ranking = Ranking(index, RankingSettings(), example_clusters.RANKED_AT_S)
    names = [index.capacity.directory.named(bit)[0] for bit in ranking.ordered(example_clusters.RANK_PREFERENCE, -1)]
    scores = [ranking.standing(example_clusters.RANK_PREFERENCE, name).dispatch_score for name in names]
    listed = ", ".join(f"{name} ({round(score, 3):g})" for name, score in zip(names, scores) if score is not None)
    assert f"the order is {listed}" in " ".join(PAGE.split())


def test_variable_with_the_list_of_the_ranked_job() -> None:
    entries = (Entry("n2", "n2", 4, (1,), tuple(range(16, 28)), 32), Entry("n4", "n4", 4, (0,), tuple(range(12)), 32))
    assert_printed([show_entries(entries)])


# P5


def layout_lines(plan: Plan) -> list[str]:
    """Each start by cores and node, with why; then why the others wait."""
    lines = []
    for start in plan.starts:
        lines.append(f"{start.id}  {show_cores(start.allocation)}")
        assert start.why is not None
        lines += [f"   {one.sentence(start.job, plan.time_s)}" for one in (start.why, *start.why.tried)]
    for job_id, (waiting, reason) in plan.reasons().items():
        lines.append(f"{job_id}  {reason.sentence(waiting, plan.time_s)}")
    return lines


def test_three_stripes_one_after_the_other() -> None:
    selects = (example_clusters.ONE_CHUNK, example_clusters.SINGLE_CORES, example_clusters.SINGLE_CORES)
    snapshot, settings = example_clusters.stripes("stripe", selects, stagger_s=60)
    first = decide(snapshot, Ledger(), settings)
    second = decide(first.started.apply(Changes(60)), first.ledger, settings)
    assert_printed(["t = 0", *layout_lines(first)])
    assert_printed(["t = 60 s", *layout_lines(second)])


def test_width_that_finds_no_room() -> None:
    vnodes = [vnode(f"n{number}", 32) for number in range(1, 9)]
    runs = [run(str(90 + number), "bob", f"n{number}=32", estimate_s=HOUR_S) for number in range(1, 4)]
    wide = job("4", select=example_clusters.SINGLE_CORES, estimate_s=HOUR_S, layout=Layout("stripe", 8))
    plan = decide(Snapshot.build(0, vnodes, [Queue(QUEUE)], [wide], runs), Ledger(), Settings())
    assert_printed(layout_lines(plan))


def test_domains_and_gpus() -> None:
    has = {"ngpus": 2}
    vnodes = [vnode(f"{host}[{domain}]", 16, host=host, has=has) for host in ("g1", "g2") for domain in (0, 1)]
    pieces = job("5", select="4:ncpus=4:ngpus=1", estimate_s=HOUR_S)
    _, settings = example_clusters.stripes("stripe")
    plan = decide(Snapshot.build(0, vnodes, [Queue(QUEUE)], [pieces]), Ledger(), settings)
    assert_printed(layout_lines(plan))


@pytest.mark.parametrize("names", ["3", "4567"])
def test_what_auto_gives_one_job_and_each_of_four(names: str) -> None:
    vnodes = [vnode(f"v{number}", 4) for number in range(1, 9)]
    snapshot = Snapshot.build(0, vnodes, [Queue(QUEUE)], [job(name, select="8") for name in names])
    plan = decide(snapshot, Ledger(), Settings(stripe=StripeSettings(layout="auto")))
    assert len(plan.starts) == len(names)
    assert_printed(f"{start.id}  {start.why.sentence(start.job, 0)}" for start in plan.starts[:1] if start.why)


@pytest.mark.parametrize("kinds", ["memory,compute", "communication", "memory,compute,communication,mixed"])
def test_what_striping_brings(kinds: str) -> None:
    cluster = Cluster(16, 32)
    workload = campaign(120, cluster, kinds.split(","))
    policies = [resolve(name, workload, cluster) for name in ("packed", "striped", "learned", "auto")]
    ends_s = [
        max(record.end_s for record in replay(workload, cluster, policy, contention=True).records)
        for policy in policies
    ]
    assert_printed([f"| `{kinds}` | {' | '.join(f'{end_s:,.0f} s' for end_s in ends_s)} |"])


# P6


def test_four_jobs_and_three_clusters() -> None:
    def answer(name: str, idle: int, **more: int) -> Answer:
        return make_answer(name, FreeNodes("pbs", 1000, (Shape(1, idle, 0, 0),), **more), [], 8)

    b, c = answer("b", 180, reserved=80, head_in_s=HOUR_S), answer("c", 96, max_walltime_s=24 * HOUR_S)
    answers = {"a": answer("a", 4), "b": b, "c": c}
    asked = ((64, 4), (150, 1), (64, 48), (64, 4))
    requests = [
        Request(f"a.{number}", "alice", Demand(cores, walltime_s=hours * HOUR_S))
        for number, (cores, hours) in enumerate(asked, 1)
    ]
    found = place(requests, answers, PlacingSettings("a", ("b", "c")))
    to = {gid: f"to {cluster}" for gid, cluster in found.placed.items()}
    outcomes = {**to, **{gid: stay.sentence() for gid, stay in found.stays.items()}}
    assert_printed([f"{gid}  {outcomes[gid]}" for gid in sorted(outcomes)])
