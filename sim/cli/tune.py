"""`pbsteer tune`: recommends backfill settings from a site's own history, judged on weeks that they were not chosen on.

The user's input is checked before the replays; every error is one line and exit status 2; what was left out of the
history is reported on stderr.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from policy.model.jobs_runs_vnodes_queues import Queue
from policy.settings.site_settings import Settings, SettingsError
from sim.cli.output_files import check_writable, file_option, writing
from sim.cli.replay_options import CommandError, find_policies, load_trace, progress, say_left_out
from sim.replay.named_policies import QUEUE, Build, shares
from sim.tune.candidate_settings import Candidate, grid
from sim.tune.choose_settings import FEWEST_WEEKS, TuneError, Tuning, measured_weeks
from sim.tune.choose_settings import tune as find
from sim.tune.tuning_report import to_json, to_text, write_csv, write_toml
from sim.workload.workload import Cluster, Workload

SHARES = "shares"
"""What `--quotas` takes each user's share of the trace for."""


@click.command()
@click.argument("trace", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--cluster", "cluster_text", metavar="NODESxCORES", help="The cluster, such as 5832x16.")
@click.option(
    "--weeks", type=click.IntRange(min=FEWEST_WEEKS), default=12, show_default=True, help="Use the last N full weeks."
)
@click.option("--thorough", is_flag=True, help="Try many more settings.")
@click.option(
    "--checkpoint-cost",
    "cost_s",
    type=float,
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="What cutting a job adds to what it has to run.",
)
@click.option(
    "--quotas",
    metavar="shares|FILE",
    help="Try preemption for quotas too: of a settings file's [[queue]], or of each user's share of the core-seconds.",
)
@click.option("--workers", type=click.IntRange(1, 1024), help="Processes to replay in. [one for each core]")
@file_option("--write", "Write the recommended settings, TOML.")
@file_option("--csv", "Write each week's figures under each setting.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON instead of the tables.")
def tune(
    *,
    trace: tuple[Path, ...],
    cluster_text: str | None,
    weeks: int,
    thorough: bool,
    cost_s: float,
    quotas: str | None,
    workers: int | None,
    write_file: Path | None,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Recommend backfill settings from the history in TRACE, judged week by week on weeks they were not chosen on.

    TRACE is a folder of PBS accounting files (server_priv/accounting), some of these files, or a trace in Standard
    Workload Format; each plain or gzipped. Nothing touches a PBS server.
    """
    check_writable({"--write": write_file, "--csv": csv_file})
    build = None if quotas in (None, SHARES) else find_policies([str(quotas)])[0]
    workload, cluster = load_trace(trace, cluster_text)
    say_left_out(workload)
    queue = None if quotas is None else _queue_with_quotas(quotas, build, workload, cluster)
    candidates = grid(cost_s, thorough=thorough, quotas=queue)
    found = _tune(workload, cluster, weeks, candidates, workers=workers or os.cpu_count() or 1)
    _write(found, write_file, csv_file, as_json=as_json)


def _queue_with_quotas(quotas: str, build: Build | None, workload: Workload, cluster: Cluster) -> Queue:
    """The queue whose quotas preempt. Raises CommandError for a file without quotas."""
    if build is None:
        return Queue(QUEUE, quotas=shares(workload, cluster))
    queue = build(workload, cluster).queue
    if not queue.quotas and not queue.other_quotas:
        raise CommandError(f"--quotas {quotas}: has no [[queue]] with quotas; {SHARES} takes each user's share")
    return Queue(queue.name, quotas=queue.quotas, other_quotas=queue.other_quotas)


def _tune(
    workload: Workload, cluster: Cluster, most_weeks: int, candidates: Sequence[Candidate], *, workers: int
) -> Tuning:
    try:
        for candidate in candidates:
            Settings.from_data(candidate.to_data(), "--checkpoint-cost")
        weeks = measured_weeks(workload, most_weeks)
    except (SettingsError, TuneError) as error:
        raise CommandError(error) from error
    with progress(f"{len(weeks)} weeks, {len(candidates)} settings", len(weeks) * len(candidates)) as show:
        return find(workload, cluster, candidates, weeks, workers=workers, progress=show)


def _write(found: Tuning, write_file: Path | None, csv_file: Path | None, *, as_json: bool) -> None:
    click.echo(to_json(found) if as_json else to_text(found))
    for option, path, write in (("--write", write_file, write_toml), ("--csv", csv_file, write_csv)):
        if path is not None:
            with writing(option, path):
                write(path, found)
