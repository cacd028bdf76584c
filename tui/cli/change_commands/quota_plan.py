"""``pbsteer quota plan``, ``planned`` and ``withdraw``: quotas for a span of time, set and taken back by the passes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from hooks.quota_plan.published_quota_plan import ShownQuota
from hooks.quota_plan.quota_plan_files import plan_locked, read_plan, read_plan_files
from hooks.store.state_files import State
from policy.quota_plan.limits_due import next_number
from policy.quota_plan.planned_quotas import Plan, PlanError, PlannedQuota
from tui.audit.audit_file import Actor
from tui.backends.interface.commands_interface import ChangeError, demand_supported
from tui.cli.change_commands.confirm_operation import confirm_options, demand_confirmation
from tui.cli.change_commands.run_operation import open_audit
from tui.cli.shared_options import open_backend_by_options, poll_cluster_view, seconds_option, source_options
from tui.forecast.past_runs_to_forecast_from import learn
from tui.forecast.what_if import HypotheticalChange, look_ahead, supposed_mode_notes
from tui.operations.by_target.quota_plan_ops import PlanFolder, entry_line, moments_of, plan_quotas, withdraw_quotas
from tui.operations.compare_and_set import make_all
from tui.operations.operation_type_and_preview import Operation
from tui.pages.plan.what_if_page import what_if_data, what_if_lines
from tui.quota_files.check_quota_rows_against_server import read_plan_table
from tui.quota_files.iso_times_in_quota_tables import one_zone
from tui.quota_files.table_file import TableError
from tui.state.cluster_view import ClusterView
from tui.text.screen_line import plain, safe

_LONGEST_S = 30 * 86400.0
_LEAST_S = 3600.0
Prepare = Callable[[ClusterView, Any, Plan, int], tuple[Operation, Plan]]
"""Makes the operation and the plan afterwards from the plan and the number of the next entry."""


def _options(command: Any) -> Any:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines; asks nothing."),
        seconds_option("the preview may take; where that is too little, its span is shorter"),
    ):
        command = option(command)
    return source_options(confirm_options(command))


@click.command("plan", short_help="Plan the quotas of a file, each for a span of time.")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--replace", is_flag=True, help="The file is the whole plan: what is not in it is withdrawn.")
@_options
def plan(*, path: Path, replace: bool, **options: Any) -> None:
    """Plan the quotas of FILE, a table with the columns user, queue, quota, from, until and, optionally, resource.

    CSV with the names of the columns in its first line, or TOML with [[quota]] for each row. A group is g:NAME, the
    generic entry PBS_GENERIC, all together o:PBS_ALL; for the queue, @server is the whole cluster. Times are ISO 8601
    (2026-12-01 08:00), in the server's local time unless they have an offset. The begin belongs to the span, the end
    does not. quota none removes the entry for that time.

    Any wrong row is named, and nothing is planned. Shows who waits less or more over the whole span, then asks. The
    pass sets each quota when its time comes and puts the one before back at its end, unless somebody changed it
    meanwhile. As root on the server's host.
    """

    def prepare(cluster: ClusterView, commands: Any, before: Plan, number: int) -> tuple[Operation, Plan]:
        user = Actor.of_environment(os.environ).user
        kept: Plan = ()
        if replace:
            # What the table has again stays as it is; all else of the plan does not stand in its way.
            ended = tuple(entry for entry in before if entry.until_s <= cluster.now_s)
            whole = read_plan_table(path, cluster, commands, ended, user, cluster.now_s, number)
            kept = tuple(entry for entry in before if any(_is_same(entry, other) for other in whole))
            fresh = [entry for entry in whole if not any(_is_same(entry, other) for other in kept)]
            new = [entry._replace(number=each) for each, entry in enumerate(fresh, number)]
        else:
            new = read_plan_table(path, cluster, commands, before, user, cluster.now_s, number)
        return plan_quotas(cluster, before, new, str(path), replace=replace, kept=kept)

    _run(prepare, **options)


@click.command("withdraw", short_help="Withdraw planned quotas, by number.")
@click.argument("numbers", metavar="NUMBER...", nargs=-1, type=click.IntRange(1))
@click.option("--all", "all_of_them", is_flag=True, help="All that are not over yet.")
@_options
def withdraw(*, numbers: tuple[int, ...], all_of_them: bool, **options: Any) -> None:
    """Withdraw planned quotas, by their numbers in pbsteer quota planned.

    One that is set now is put back by the next pass, as at its end. As root on the server's host.
    """
    if bool(numbers) == all_of_them:
        raise click.UsageError("give the numbers of pbsteer quota planned, or --all")
    _run(lambda cluster, _, before, __: withdraw_quotas(cluster, before, numbers, all_of_them=all_of_them), **options)


@click.command("planned", short_help="List planned quotas and their states.")
@source_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
def planned(*, demo: bool, server: str, settings_path: Path | None, as_json: bool) -> None:
    """List the planned quotas with their numbers, and what became of each.

    Needs the right to read the journal. An entry that no pass has seen yet is new.
    """
    backend = open_backend_by_options(demo=demo, server=server, settings_path=settings_path)
    try:
        passes = backend.journal.read()
        problem = backend.journal.problem
        state = State(backend.journal.folder)
    finally:
        backend.close()
    if problem:
        raise click.ClickException(safe(problem))
    shown = passes.quota_plan
    quotas, broken = list(shown.quotas), shown.problem
    try:
        known = {each.entry: each for each in quotas}
        quotas = [known.get(entry, ShownQuota(entry, "new")) for entry in read_plan(state)]
        broken = ""
    except PlanError as error:
        # Only root may read the plan itself; others see what the last pass has published.
        broken = broken or ("" if isinstance(error.__cause__, PermissionError) else str(error))
    if as_json:
        click.echo(json.dumps({"problem": broken, "quotas": [each.to_data() for each in quotas]}))
    else:
        _print(quotas)
        if broken:
            click.echo(safe(broken), err=True)
    if broken:
        raise SystemExit(1)


def _print(quotas: list[ShownQuota]) -> None:
    if not quotas:
        click.echo("no quota is planned")
        return
    zone, show = one_zone(moments_of(each.entry for each in quotas))
    click.echo(f"times are local: {zone}")
    for each in quotas:
        back = f", before {'none' if each.before is None else f'{each.before:,}'}" if each.is_set else ""
        why = f": {each.why}" if each.why else ""
        by = f", by {each.entry.by}" if each.entry.by else ""
        click.echo(safe(f"{each.entry.number:>4}  {entry_line(each.entry, show)}: {each.state}{back}{why}{by}"))


def _run(
    prepare: Prepare,
    *,
    demo: bool,
    server: str,
    settings_path: Path | None,
    preview: bool,
    yes: bool,
    typed: str,
    seconds: float,
    as_json: bool,
) -> None:
    """Show what the plan would be and what it does, confirm, write it."""
    backend = open_backend_by_options(demo=demo, server=server, settings_path=settings_path)
    try:
        if backend.journal.problem:
            raise click.ClickException(safe(backend.journal.problem))
        demand_supported(backend.commands, "quota-plan")
        state = State(backend.journal.folder)
        cluster = poll_cluster_view(backend)
        before = read_plan(state)
        number = next_number(before, read_plan_files(state).record)
        operation, after = prepare(cluster, backend.commands, before, number)
        shown = _show(cluster, operation, after, learn(backend), seconds, as_json=as_json)
        outcomes = []
        if not preview:
            name = cluster.server_name or backend.name
            demand_confirmation(operation, name, yes=yes, typed=typed, may_ask=not as_json)
            with plan_locked(state):
                outcomes = make_all(PlanFolder(state, after), operation.changes, open_audit(backend), time.time)
    except TableError as error:
        raise click.ClickException("nothing is planned\n" + "\n".join(map(safe, error.problems))) from error
    except (ChangeError, PlanError) as error:
        if isinstance(error.__cause__, PermissionError):
            raise click.ClickException(safe(f"{error}: only root on the server's host may change the plan")) from error
        raise click.ClickException(safe(str(error))) from error
    except BlockingIOError as error:
        raise click.ClickException("another command is changing the plan: nothing is changed, try again") from error
    except OSError as error:
        raise click.ClickException(safe(f"the quota plan: {error}")) from error
    finally:
        backend.close()
    if as_json:
        done = [{"ok": outcome.ok, "text": outcome.text} for outcome in outcomes]
        click.echo(json.dumps({**shown, "done": done}))
    else:
        for outcome in outcomes:
            click.echo(safe(outcome.text), err=not outcome.ok)
    if not all(outcome.ok for outcome in outcomes):
        raise SystemExit(1)


def _show(
    cluster: ClusterView, operation: Operation, after: Plan, learned: Any, seconds: float, *, as_json: bool
) -> dict[str, Any]:
    """Print the operation and what it does over the plan's span, unless ``as_json``; returns them as data."""
    if not as_json:
        for line in operation.notes:
            click.echo(safe(plain(line)))
    settled = {each.entry for each in cluster.passes.quota_plan.quotas if not each.is_live}
    live = [entry for entry in after if entry.until_s > cluster.now_s and entry not in settled]
    span_s = min(_LONGEST_S, max([_LEAST_S, *(entry.until_s - cluster.now_s for entry in live)]))
    notes = supposed_mode_notes(cluster, cluster.server_status)
    supposed = HypotheticalChange(
        operation.title, cluster.server_status, cluster.settings, notes=notes, quota_plan=live
    )
    *_, found = look_ahead(cluster, supposed, learned, seconds, span_s)
    if not as_json:
        for note in notes:
            click.echo(safe(note))
        for line in what_if_lines(found, learned.runs):
            click.echo(safe(plain(line).rstrip()))
        if found.end_s < cluster.now_s + span_s - 1:
            click.echo(safe(f"the plan lasts longer than this preview: --seconds {2 * seconds:g} looks further ahead"))
    return {
        "title": operation.title,
        "server": cluster.server_name,
        "notes": [plain(line) for line in operation.notes],
        "plan": [entry.to_data() for entry in after],
        "preview": what_if_data(operation.title, supposed.notes, found, learned.runs),
    }


def _is_same(one: PlannedQuota, other: PlannedQuota) -> bool:
    return one[1:5] == other[1:5]
