"""`pbsteer forecast TRACE --evaluate`: how well the starts of waiting jobs would have been forecast on a workload."""

from __future__ import annotations

import click

from policy.forecast.forecast import USUAL
from sim.cli.replay_options import (
    CommandError,
    Source,
    find_policies,
    policy_option,
    progress,
    say_left_out,
    source_options,
)
from sim.forecast.evaluate_forecasts import evaluate
from sim.forecast.forecast_accuracy_report import to_json, to_text
from sim.replay.named_policies import PolicyError

DEFAULT_POLICIES = ("easy", "checkpoint-sjbf")


@click.command()
@source_options
@policy_option("easy and checkpoint-sjbf")
@click.option("--evaluate", "evaluates", is_flag=True, help="Hold forecasts against what then happened.")
@click.option(
    "--moments", type=click.IntRange(1, 1_000_000), default=600, show_default=True, help="Submissions to forecast at."
)
@click.option(
    "--draws", type=click.IntRange(1, 1000), default=USUAL.draws, show_default=True, help="Draws of each forecast."
)
@click.option("--draw-seed", type=int, default=USUAL.seed, show_default=True, help="The same seed: the same draws.")
@click.option(
    "--passes",
    type=click.IntRange(1),
    default=USUAL.passes,
    show_default=True,
    help="Decisions that a forecast takes at most.",
)
@click.option(
    "--arrivals", is_flag=True, help="Draw jobs to come as well, from those of the days before: several times as slow."
)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for each policy instead of the text.")
def forecast(
    *,
    source: Source,
    policy_names: tuple[str, ...],
    evaluates: bool,
    moments: int,
    draws: int,
    draw_seed: int,
    passes: int,
    arrivals: bool,
    as_json: bool,
) -> None:
    """Hold forecasts of starts against a replay of the workload in TRACE.

    At submissions spread over the replay all waiting jobs are forecast from what was known by then. Beside each stand
    an estimate from requested walltimes, as `qstat -T` gives it, and a bound from the waits of like jobs (QBETS).

    TRACE is in Standard Workload Format, or the accounting log of a PBS server (the folder of the daily files, or some
    of these files); each plain or gzipped. Or --generate draws a workload.
    """
    if not evaluates:
        raise CommandError("forecast: say --evaluate; a recorded workload has no jobs that wait now")
    found = find_policies(policy_names or DEFAULT_POLICIES)
    workload, cluster = source.load_workload()
    say_left_out(workload)
    bounds = USUAL._replace(draws=draws, seed=draw_seed, passes=passes)
    for build in found:
        policy = build(workload, cluster)
        try:
            with progress(policy.name, len(workload.jobs)) as show:
                judged = evaluate(workload, cluster, policy, moments, bounds, with_arrivals=arrivals, progress=show)
        except PolicyError as error:
            raise CommandError(error) from error
        click.echo(to_json(judged) if as_json else to_text(judged))
