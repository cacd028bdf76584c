"""Draws the pictures of docs/policies.md from the engine's decisions on the page's example clusters.

``python -m sim.figures.policy_pictures FOLDER`` draws them all. The same code draws the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from policy import Ledger, Plan, decide
from policy.ranking.vnode_ranking_and_requirements import Ranking
from policy.settings.ranking_and_stripe_settings import RankingSettings
from sim.figures import example_clusters
from sim.figures.example_clusters import HOUR_S, RANK_PREFERENCE, RANKED_AT_S, Example
from sim.figures.svg import INK, Drawing, draw_all
from sim.replay.job_records import JobRecord, Replay
from sim.replay.replay import replay
from sim.report.gantt_bar_rows import Bar, bars
from sim.report.time_span_given_or_most_preemptions import Span

_WIDTH = 780
_LEFT, _RIGHT = 62, 26
_CORES = 104
_PANEL = 74 + _CORES
_GREY = "#8a8a8a"
_CUT = "#b00020"
_FILLS = ("#9ecae9", "#fdc58a", "#a8dba8", "#e3b7d8", "#f3e48c")


# Runs over cores and time


def _draw_examples(title: str, shown: Sequence[Example], hours: int, promised: Sequence[int] = ()) -> Drawing:
    """A Gantt view for each policy of each example, one below the other; the promises of the jobs `promised` are
    marked.
    """
    replays = [
        (example, called, policy.settings.checkpoint.saves, replay(example.workload, example.cluster, policy))
        for example in shown
        for called, policy in example.policies.items()
    ]
    drawing = Drawing(_WIDTH, _PANEL * len(replays) + 30, title)
    keys = ["triangle: submitted"]
    for index, (example, called, saves, result) in enumerate(replays):
        panel = _Panel(drawing, _PANEL * index, example, hours)
        panel.draw_frame(called)
        panel.draw_runs(result, saves)
        for record in result.records:
            if record.job.number in promised and record.head_delay_s is not None:
                panel.mark_promise(record)
        if any(record.preemptions for record in result.records):
            keys = [*keys[:1], "red edge: preempted", *([] if saves else ["pale: done in vain"])]
    drawing.words(_LEFT, _PANEL * len(replays) + 18, ";  ".join(keys), colour=_GREY)
    return drawing


class _Panel:
    """One Gantt view: time to the right, the cluster's cores upwards."""

    def __init__(self, drawing: Drawing, top: float, example: Example, hours: int) -> None:
        self._drawing = drawing
        self._top = top
        self._base = top + 32 + _CORES
        self._example = example
        self._hours = hours
        self._users = list(dict.fromkeys(job.user for job in example.workload.jobs))

    def _x(self, at_s: float) -> float:
        return _LEFT + at_s / HOUR_S * (_WIDTH - _LEFT - _RIGHT) / self._hours

    def draw_frame(self, called: str) -> None:
        """The axes, and below them the names of the jobs at their submit times."""
        drawing, base = self._drawing, self._base
        drawing.words(_LEFT, self._top + 22, called, bold=True)
        drawing.box(_LEFT, base - _CORES, _WIDTH - _LEFT - _RIGHT, _CORES, "#f6f6f6", "#bbbbbb")
        drawing.words(_LEFT - 8, base - _CORES / 2 + 4, f"{self._example.cluster.cores} cores", "end")
        for hour in range(self._hours + 1):
            at = self._x(hour * HOUR_S)
            drawing.line((at, base), (at, base + 4), INK)
            drawing.words(at, base + 17, f"{hour} h", "middle")
        coming: dict[float, list[str]] = {}
        for job in self._example.workload.jobs:
            if job.submit_s:
                coming.setdefault(job.submit_s, []).append(self._example.names[job.number].split(",")[0])
        for at_s, names in coming.items():
            drawing.words(self._x(at_s), base + 33, "▲ " + ", ".join(names))

    def draw_runs(self, result: Replay, saves: bool) -> None:
        """The runs in the colours of their users. Cut runs have a red edge, and are pale if nothing of them was
        saved.
        """
        drawn = bars(result, Span(0, self._hours * HOUR_S))
        for bar in drawn:
            fill = _FILLS[self._users.index(bar.record.job.user)]
            self._draw_run(bar, *(("#ffffff", fill) if bar.cut and not saves else (fill, "#ffffff")))
        for bar in drawn:
            if bar.cut:
                for low, high in bar.rows:
                    at = self._x(bar.end_s)
                    self._drawing.line((at, self._y(low)), (at, self._y(high)), _CUT, 3)

    def _y(self, core: float) -> float:
        return self._base - core * _CORES / self._example.cluster.cores

    def _draw_run(self, bar: Bar, fill: str, edge: str) -> None:
        start, end = self._x(bar.start_s), self._x(bar.end_s)
        name = self._example.names[bar.record.job.number]
        for low, high in bar.rows:
            self._drawing.box(start, self._y(high), end - start, self._y(low) - self._y(high), fill, edge)
            if end - start > 7 * len(name) + 4:
                self._drawing.words((start + end) / 2, self._y((low + high) / 2) + 4.5, name, "middle")

    def mark_promise(self, record: JobRecord) -> None:
        """Mark the promised start of a head."""
        at = self._x(record.start_s - (record.head_delay_s or 0))
        self._drawing.line((at, self._top + 26), (at, self._base), INK, dashes="5 4")
        self._drawing.words(at, self._top + 22, f"{self._example.names[record.job.number]} was promised", "middle")


def draw_quota() -> Drawing:
    """P1: the same jobs with the quotas as hard limits and as soft ones."""
    return _draw_examples("Hard limits and soft quotas", [example_clusters.quota()], 12)


def draw_priority() -> Drawing:
    """P2: job 3 preempts lower classes, if their cores are enough."""
    return _draw_examples(
        "A higher class takes from a lower one", [example_clusters.priority(4), example_clusters.priority(8)], 9
    )


def draw_window() -> Drawing:
    """P3: the cores that the window leaves idle, and their use by runs that are checkpointed at the promised time."""
    return _draw_examples("Backfilling with and without checkpoints", [example_clusters.window()], 13, promised=(3,))


def draw_rescue() -> Drawing:
    """The rescue: one run is cut for a short job that has waited long for its length."""
    return _draw_examples("Short jobs rescued", [example_clusters.rescue()], 6)


# Ranked vnodes


def draw_ranking() -> Drawing:
    """P4: the order of the vnodes before and after the start of the job that requests it."""
    snapshot = example_clusters.ranked(example_clusters.ranked_job(8))
    plan = decide(snapshot, Ledger(), example_clusters.ONLY_CLASSES)
    panels = {
        "before job 8 starts": example_clusters.ranked(),
        f"after its start on {' and '.join(plan.starts[0].allocation.vnodes)}": plan.started,
    }
    drawing = Drawing(_WIDTH, 2 * 176, "Vnodes ranked by what is left of them")
    for index, (called, then) in enumerate(panels.items()):
        ranked = then.cluster()
        ranking = Ranking(ranked, RankingSettings(), RANKED_AT_S)
        best = [name for bit in ranking.ordered(RANK_PREFERENCE, ranking.compliant(RANK_PREFERENCE))
                for name in ranked.capacity.directory.named(bit)]  # fmt: skip
        top = 176 * index
        drawing.words(_LEFT, top + 22, called, bold=True)
        rest = [name for name in ranked.vnodes if name not in best]
        for row, name in enumerate([*best, *rest]):
            y = top + 34 + 27 * row
            drawing.words(_LEFT - 10, y + 15, name, "end", bold=name in best)
            standing = ranking.standing(RANK_PREFERENCE, name)
            if standing.dispatch_score is not None and name in best:
                length = 180 * standing.dispatch_score
                drawing.box(_LEFT, y, length, 21, _FILLS[0])
                text = f"F + G = {standing.score:.4g}, U = {standing.compliance:.4g}: S = {standing.dispatch_score:.4g}"
                drawing.words(_LEFT + length + 8, y + 15, text)
            elif standing.compliance is None:
                drawing.words(_LEFT, y + 15, "no recent reading: not good enough", colour=_GREY)
            else:
                drawing.words(_LEFT, y + 15, f"U = {standing.compliance:.4g}: not good enough", colour=_GREY)
    return drawing


# Ranks on nodes


def draw_stripes() -> Drawing:
    """P5: three jobs of 64 ranks on four nodes, packed and striped."""
    drawing = Drawing(_WIDTH, 168, "Packed and striped")
    half = (_WIDTH - 30) / 2
    for index, (layout, called) in enumerate({"pack": "packed", "stripe": "striped over 4"}.items()):
        snapshot, settings = example_clusters.stripes(layout)
        plan = decide(snapshot, Ledger(), settings)
        left = 50 + index * half
        waiting = ", ".join(plan.reasons())
        drawing.words(left, 22, f"{called}; job {waiting} waits", bold=True)
        for row, (node, ranks) in enumerate(_ranks(plan, list(snapshot.vnodes)).items()):
            y = 34 + 31 * row
            drawing.words(left - 10, y + 17, node, "end")
            for core in range(32):
                x = left + core * 9.8
                drawing.box(x, y, 9, 25, _FILLS[int(ranks[core]) - 1] if core < len(ranks) else "#f1f1f1")
            for job in dict.fromkeys(ranks):
                middle = left + 9.8 * (ranks.index(job) + ranks.count(job) / 2)
                drawing.words(middle, y + 17, f"job {job}", "middle")
    return drawing


def _ranks(plan: Plan, nodes: Sequence[str]) -> Mapping[str, list[str]]:
    """For each node the job ids on its cores in use."""
    ranks: dict[str, list[str]] = {node: [] for node in nodes}
    for start in plan.starts:
        for spot in start.allocation.spots:
            ranks[spot.vnode] += [start.id] * (spot.chunks * dict(spot.amounts)["ncpus"])
    return ranks


PICTURES: Mapping[str, Callable[[], Drawing]] = {
    "policy-quota": draw_quota,
    "policy-priority": draw_priority,
    "policy-window": draw_window,
    "policy-rescue": draw_rescue,
    "policy-ranking": draw_ranking,
    "policy-stripes": draw_stripes,
}
"""The functions by the names of their files."""


def main(arguments: Sequence[str]) -> int:
    """Draw into the named folder."""
    return draw_all(PICTURES, arguments, "sim.figures.policy_pictures")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
