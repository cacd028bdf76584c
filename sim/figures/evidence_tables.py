"""The tables of docs/evidence.md for one trace: gains with intervals, and what they cost users, sizes and jobs.

Everything is computed from the replays as `simulate` and `compare` compute it, over the same measured jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sim.evidence.figures_by_user_and_size import SIZES_PERCENT, by_size, by_user, losers
from sim.evidence.gains_over_references import REFERENCES, Gain, Pair, Reference, gains
from sim.evidence.measured_jobs import TRIM_PERCENT, measured_jobs
from sim.evidence.weeks_of_submission import Weeks
from sim.figures.evidence_traces import EvidenceTrace
from sim.replay.job_records import Replay
from sim.replay.metrics import Metrics, area_s, measure, wait_s
from sim.report.gains_sizes_users_and_losers import show_gain
from sim.report.replay_table_json_and_csv import every_job_ran
from sim.workload.scale_and_resample import offered_load
from sim.workload.workload import Cluster, Workload

SEED = 1
"""That of the intervals."""


def tables_of(
    trace: EvidenceTrace, workload: Workload, cluster: Cluster, replays: Mapping[str, Replay], absent: Sequence[str]
) -> list[str]:
    """The lines of one trace's part of the page. ``replays`` are by policy, the references among them; ``absent`` are
    the policies that were not replayed."""
    weeks, numbers = Weeks.of(workload.jobs), measured_jobs(workload.jobs, TRIM_PERCENT)
    measured = {policy: measure(each, numbers) for policy, each in replays.items()}
    pairs = {
        reference: {policy: Reference(replays[reference]).pairs(each, numbers) for policy, each in replays.items()}
        for reference in REFERENCES
    }
    left_out = sum(workload.skipped.values())
    return [
        f"### {trace.file}",
        "",
        f"{trace.what}: the whole trace, {len(workload.jobs):,} jobs"
        + (f" ({left_out:,} records left out)" if left_out else "")
        + f" of {weeks.total:,} weeks on {cluster.nodes:,} nodes of {cluster.cores_per_node:,}"
        f" core{'s' * (cluster.cores_per_node != 1)}, offered load {offered_load(workload, cluster):.2f};"
        f" {next(iter(measured.values())).measured_jobs:,} jobs are measured.",
        *([f"Not replayed: {', '.join(absent)}."] if absent else []),
        "",
        *_gains(workload, measured, pairs, weeks),
        "",
        *_costs(workload, measured, replays),
        "",
        *_losers(cluster, measured, replays, pairs[REFERENCES[0]], weeks),
        "",
    ]


def _gains(
    workload: Workload,
    measured: Mapping[str, Metrics],
    pairs: Mapping[str, Mapping[str, Sequence[Pair]]],
    weeks: Weeks,
) -> list[str]:
    rows = [
        ["policy", "mean bounded slowdown", "below `easy`, %", "below `easy-sjbf`, %", "mean wait", "below `easy`, %"]
    ]
    for policy, figures in measured.items():
        over = {
            reference: gains(of_policy[policy], weeks, SEED) if policy != reference else None
            for reference, of_policy in pairs.items()
        }
        easy, shortest = (over[reference] for reference in REFERENCES)
        mark = "" if every_job_ran(figures, workload) else " (left jobs out: not comparable)"
        rows.append(
            [
                f"`{policy}`{mark}", f"{figures.mean_bounded_slowdown:,.2f}", _gain(easy, "bounded_slowdown"),
                _gain(shortest, "bounded_slowdown"), f"{figures.mean_wait_s:,.0f} s", _gain(easy, "wait"),
            ]
        )  # fmt: skip
    return markdown(rows)


def _costs(workload: Workload, measured: Mapping[str, Metrics], replays: Mapping[str, Replay]) -> list[str]:
    rows = [["policy", "jobs cut", "cuts", "charged for saving", "share of the work", "latest start after its promise"]]
    work_core_s = sum(job.cores * job.run_s for job in workload.jobs)
    for policy, figures in measured.items():
        charged_s = replays[policy].checkpoint_core_s
        late_s = figures.max_head_delay_s
        rows.append(
            [
                f"`{policy}`", f"{figures.preempted_jobs:,} ({100 * figures.preempted_jobs / figures.jobs:.2f} %)",
                f"{figures.preemptions:,}", f"{charged_s / 3600:,.0f} core-h", f"{100 * charged_s / work_core_s:.2f} %",
                "-" if late_s is None else f"{late_s:,.0f} s",
            ]
        )  # fmt: skip
    return markdown(rows)


def _losers(
    cluster: Cluster,
    measured: Mapping[str, Metrics],
    replays: Mapping[str, Replay],
    pairs: Mapping[str, Sequence[Pair]],
    weeks: Weeks,
) -> list[str]:
    rows = [
        [
            "policy", "99 % waited at most", "longest wait", "area-weighted wait below `easy`, %",
            "jobs above half the machine: wait below `easy`, %", "jobs that wait longer", "users who wait longer",
            "job that loses most",
        ]
    ]  # fmt: skip
    for policy, figures in measured.items():
        cells = [f"`{policy}`", f"{figures.p99_wait_s:,.0f} s", f"{figures.max_wait_s:,.0f} s"]
        of_policy = pairs[policy]
        if policy == REFERENCES[0]:
            rows.append([*cells, *["-"] * 5])
            continue
        records = [record for record, _ in of_policy]
        sizes = by_size(records, of_policy, cluster.cores, weeks, SEED)
        large = next((each for each in sizes if each.up_to_percent == SIZES_PERCENT[-1]), None)
        worst, users = losers(of_policy), by_user(records, of_policy)
        rows.append(
            [
                *cells,
                _gain(gains(of_policy, weeks, SEED), "area_weighted_wait"),
                "-" if large is None else f"{_gain(large.gains, 'wait')}, {large.jobs:,} jobs",
                f"{100 * len(worst) / len(of_policy):.1f} %",
                f"{sum(user.longer_s > 0 for user in users):,} of {len(users):,}",
                _worst(worst),
            ]
        )
    return markdown(rows)


def _worst(pairs: Sequence[Pair]) -> str:
    if not pairs:
        return "-"
    mine, theirs = pairs[0]
    core_h = area_s(mine) / 3600
    return f"+{(wait_s(mine) - wait_s(theirs)) / 3600:,.1f} h ({mine.job.cores:,} cores, {core_h:,.0f} core-h)"


def _gain(of_measure: Mapping[str, Gain] | None, measure_name: str) -> str:
    return "-" if of_measure is None else show_gain(of_measure[measure_name], width=1)


def markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table: the first row is its head; all columns but the first are aligned to the right."""
    head, *others = rows
    lines = [list(head), ["---", *["--:"] * (len(head) - 1)], *map(list, others)]
    return [f"| {' | '.join(cells)} |" for cells in lines]
