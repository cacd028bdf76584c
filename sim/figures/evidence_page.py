"""Makes the figures of docs/evidence.md from the traces in a folder: `make evidence TRACES=FOLDER`.

A replay of a whole trace under a policy is kept in a file and used again until the trace or the program changes, so an
interrupted run goes on where it was; only the block between two marks of the page is replaced, and in it only the parts
of traces that are in the folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click

from sim.cli.output_files import check_writable, writing
from sim.cli.replay_options import CommandError, load_trace, progress, say_left_out
from sim.evidence.block_bootstrap_over_weeks import FEWEST_WEEKS, PERCENT, SAMPLES
from sim.evidence.gains_over_references import REFERENCES
from sim.figures.evidence_replays import KeptReplays
from sim.figures.evidence_tables import SEED, tables_of
from sim.figures.evidence_traces import TRACES, EvidenceTrace
from sim.replay.job_records import Replay

POLICIES = (
    *REFERENCES,
    "checkpoint",
    "checkpoint-sjbf",
    "checkpoint-rescue",
    "fair-share",
    "wfp",
    "multifactor",
)
BEGIN = "<!-- made by `make evidence`: begin -->"
END = "<!-- made by `make evidence`: end -->"
_ABSENT = "Traces that `make evidence` knows, and that these figures are not of:"
_DOCS = Path(__file__).resolve().parents[2] / "docs"


class _Budget(NamedTuple):
    """How many replays may still be made; None: any number."""

    replays: int | None

    def less_one(self) -> _Budget:
        return self if self.replays is None else _Budget(self.replays - 1)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--page", type=click.Path(path_type=Path), default=_DOCS / "evidence.md", help="The page to write into.")
@click.option("--results", type=click.Path(path_type=Path), help="Where replays are kept. [FOLDER/evidence-results]")
@click.option("--most", type=click.IntRange(min=0), help="Make so many replays at most; show what there is then.")
def evidence(*, folder: Path, page: Path, results: Path | None, most: int | None) -> None:
    """Replay the traces in FOLDER, and write their figures into the page. The figures of other traces stay there."""
    check_writable({"--page": page})
    before, block, after = _split(page)
    published = _parts(block)
    present = [trace for trace in TRACES if (folder / trace.file).is_file()]
    for trace in TRACES:
        if trace not in present:
            stay = "; its figures stay as they are" if trace.file in published else ""
            click.echo(f"{folder / trace.file}: not there{stay}; get it from {trace.page}", err=True)
    if not present:
        raise CommandError(f"{folder}: has none of these traces")
    budget, lines = _Budget(most), [*_how()]
    for trace in TRACES:
        if trace in present:
            budget, of_trace = _of_trace(trace, folder / trace.file, results or folder / "evidence-results", budget)
            lines += of_trace
        else:
            lines += published.get(trace.file, [])
    absent = [trace.file for trace in TRACES if trace not in present and trace.file not in published]
    if absent:
        lines += [f"{_ABSENT} {', '.join(absent)}.", ""]
    with writing("--page", page):
        page.write_text("\n".join([before + BEGIN, "", *lines, END + after]), encoding="utf-8")


def _split(page: Path) -> tuple[str, str, str]:
    """What stands before the block of the page, the block, and what stands after it. Raises CommandError."""
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"--page {page}: {error.strerror}") from error
    before, begin, rest = text.partition(BEGIN)
    block, end, after = rest.partition(END)
    if not begin or not end:
        raise CommandError(f"--page {page}: must have the lines {BEGIN} and {END}, between which the figures go")
    return before, block, after


def _parts(block: str) -> dict[str, list[str]]:
    """The lines of each trace's part of the block, by its file: from its heading up to the next one, or to the line
    about other traces."""
    parts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in block.splitlines():
        if line.startswith("### "):
            lines = parts[line[4:]] = []
        elif line.startswith(_ABSENT):
            break
        lines.append(line)
    return parts


def _how() -> list[str]:
    return [
        f"In brackets: {PERCENT} % intervals, block bootstrap over weeks of submission ({SAMPLES:,} samples, seed "
        f"{SEED}; none with fewer than {FEWEST_WEEKS} weeks). A negative number is a loss.",
        "",
    ]


def _of_trace(trace: EvidenceTrace, path: Path, results: Path, budget: _Budget) -> tuple[_Budget, list[str]]:
    """The part of one trace, and what is left of the budget. Without the replays of the references there is none."""
    problem = trace.problem(path)
    if problem is not None:
        click.echo(problem, err=True)
    workload, cluster = load_trace([path], trace.cluster)
    say_left_out(workload)
    kept = KeptReplays(results, trace, path)
    replays: dict[str, Replay] = {}
    for policy in POLICIES:
        result = kept.find(policy, workload, cluster)
        if result is None and budget.replays != 0:
            budget = budget.less_one()
            click.echo(f"{trace.file}: {policy}", err=True)
            with progress(policy, len(workload.jobs)) as show, writing("--results", results):
                result = kept.make(policy, workload, cluster, show)
        if result is not None:
            replays[policy] = result
    absent = [policy for policy in POLICIES if policy not in replays]
    if any(reference in absent for reference in REFERENCES):
        return budget, [f"### {trace.file}", "", "Not replayed.", ""]
    return budget, tables_of(trace, workload, cluster, replays, absent)


if __name__ == "__main__":
    evidence()
