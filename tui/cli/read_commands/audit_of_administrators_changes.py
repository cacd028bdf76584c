"""``pbsteer audit``: the changes made on the server, with user, origin and time, as lines or as JSON; the newest
last.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import click

from hooks.audit.shared_audit_file import RECORDED
from tui.audit.audit_file import audit_path
from tui.audit.read_and_merge_audit_records import (
    LOG,
    AuditRecord,
    find_problem,
    read_recorded_since_s,
    read_trail,
)
from tui.cli.shared_options import open_backend_by_options, source_options
from tui.text.screen_line import safe
from tui.text.times_and_durations import day_and_time

_FIELDS = ("source", "stage", "user", "origin", "server", "command", "before", "after", "reply")


@click.command("audit")
@click.option("--last", type=click.IntRange(1), default=50, show_default=True, help="So many changes, the newest.")
@click.option("--user", "user", default="", metavar="USER", help="Changes of this user alone.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, with times in seconds since 1970.")
@source_options
def audit(*, last: int, user: str, as_json: bool, demo: bool, server: str, settings_path: Path | None) -> None:
    """Changes that administrators made: who, from where, when, and the command.

    Those of one server: this host's, or the one that --server names. On the server's host these are all requests of
    managers, whatever they were made with, as the server's hook recorded them; consoles of root there add what was
    there before. What is done to jobs is copied from the server's log, and so is all else where the hook is not
    installed: [log]. Any user can write into that log. Elsewhere, or where the shared file may not be read, the changes
    are this user's own.
    """
    backend = open_backend_by_options(demo=demo, server=server, settings_path=settings_path)
    own = backend.own_audit or audit_path(os.environ)
    try:
        names, shared = backend.names(), backend.shared_audit()
        found = read_trail(own, shared, names)
    except OSError as error:
        raise click.ClickException(f"{own}: {error.strerror}") from error
    finally:
        backend.close()
    records = [record for record in found if not user or record.user.partition(" ")[0] == user][:last][::-1]
    problem = find_problem(shared)
    since_s = read_recorded_since_s(shared)
    is_shared = shared is not None and not problem and shared.exists()
    if as_json:
        rows = [{"time_s": record.time_s, **{name: getattr(record, name) for name in _FIELDS}} for record in records]
        click.echo(json.dumps({"shared": is_shared, "problem": problem, "recorded_since_s": since_s, "changes": rows}))
        return
    now_s = time.time()
    for record in records:
        click.echo(safe(_line(record, now_s)))
    if backend.simulated:
        click.echo("a demo keeps its changes only as long as it runs: the console shows them", err=True)
    elif not is_shared:
        why = problem or f"there is no {shared} here: no pass has run on this host"
        if shared is None:
            why = f"the one of all administrators is on the host of {names[0]}"
        click.echo(safe(f"these are your own changes alone; {why}"), err=True)
    else:
        click.echo(safe(_describe_sources(shared, since_s, now_s)), err=True)


def _describe_sources(shared: Path | None, since_s: float | None, now_s: float) -> str:
    """Which of the changes can be trusted."""
    forged = "[log]: a line of the server's log, which any user of PBS can forge"
    if shared is not None and not shared.with_name(RECORDED).exists():
        return f"no pass has said yet whether the server records requests. {forged}"
    if since_s is None:
        return (
            "the server does not record requests: it has no hook pbsteer_management, or it is disabled (pbsteer hooks"
            f" plan; pbsteer hooks apply). {forged}"
        )
    return f"requests are recorded since {day_and_time(since_s, now_s)}, but those on jobs. {forged}"


def _line(record: AuditRecord, now_s: float) -> str:
    who = f"{day_and_time(record.time_s, now_s)}  {record.stage:<11}  {record.user} from {record.origin}"
    if record.logged:
        values = "  [log]" if record.source == LOG else f"  ({record.reply})" if record.reply else ""
    else:
        values = f"  ({record.before or 'none'} → {record.after or 'none'})"
    return f"{who}: {record.command}{values}"
