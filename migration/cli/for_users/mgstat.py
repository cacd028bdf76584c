"""``mgstat``: lists this cluster's jobs that may run on any cluster, as of the last pass."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from typing import Any

import click

from migration.cli.migrating_job_in_words import (
    is_on_the_way,
    moved_bytes,
    reached,
    show_age,
    show_bytes,
    shown_state,
    why_paused,
    why_there,
)
from migration.cli.open_site_for_users import HELP, SiteFiles, open_site_files, own_name
from migration.passes.source.notes_on_other_clusters import Notes, read_notes
from migration.spool.drop_box import TICKET
from policy.migration.job_record_and_copy_updates import Record
from policy.model.printable_text import printable

SOME_NOT_FINAL = 3
_RECENT_S = 86_400
_HEADS = ("GID", "NAME", "USER", "CORES", "AT", "LOCAL ID", "STATE", "SINCE", "MOVED", "EXIT", "WHY")
_QUEUE_HEADS = ("CLUSTER", "REACHED", "FREE", "OF", "ON THE WAY", "THERE", "WHY")


@click.command("mgstat", context_settings=HELP)
@click.option("-a", "everything", is_flag=True, help="Also jobs that ended more than a day ago.")
@click.option("-u", "user", metavar="USER", help="The jobs of another user; 'all' for everyone's.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--queues", is_flag=True, help="The other clusters instead: whether they answer, what is free there.")
@click.argument("wanted", nargs=-1, metavar="[GID|TICKET]...")
@click.pass_context
def main(
    ctx: click.Context, *, everything: bool, user: str | None, as_json: bool, queues: bool, wanted: tuple[str, ...]
) -> None:
    """Show jobs that were submitted with mgsub: yours, or those that are named.

    The exit status is 0 if all jobs shown are final (End, Aborted, Stopped), 3 if some are not, and 1 after an error.
    States are those of the last pass; where a cluster does not answer, WHY says for how long.
    """
    site = open_site_files()
    notes, now = read_notes(site.home), time.time()
    if queues:
        _show_queues(site, notes, now, as_json)
        return
    records = [record for _, record in site.read_records().values()]
    waiting: list[str] = []
    if wanted:
        records, waiting = _pick(site, records, wanted)
    else:
        whose = user or own_name()
        records = [one for one in records if whose in (one.user, "all")]
        records = [one for one in records if everything or not one.final or now - one.since < _RECENT_S]
    records.sort(key=lambda one: (one.created, one.gid))
    if as_json:
        shown = [_to_data(one, notes, now) for one in records]
        # A line for each job: an indented text takes three times as long.
        jobs = ",\n".join(map(json.dumps, shown))
        click.echo(f'{{"jobs": [\n{jobs}\n],\n"not_taken_yet": {json.dumps(waiting)}, "last_pass": {notes.ended}}}')
    else:
        for ticket in waiting:
            click.echo(f"{ticket}: waits in the drop box for the next pass")
        if records:
            _print_table(_HEADS, (_row(one, notes, now) for one in records))
        elif not waiting:
            click.echo(
                f"no jobs as of the last pass, {_last_pass(notes, now)}; mgstat TICKET shows newer ones", err=True
            )
    ctx.exit(0 if not waiting and all(one.final for one in records) else SOME_NOT_FINAL)


def _pick(site: SiteFiles, records: Sequence[Record], wanted: Iterable[str]) -> tuple[list[Record], list[str]]:
    """The jobs of these ids and tickets, and the tickets that no pass has taken yet."""
    found: dict[str, Record] = {}
    waiting = []
    for word in wanted:
        named = [one for one in records if word in (one.gid, one.ticket)]
        if named:
            found.update((one.gid, one) for one in named)
        elif TICKET.fullmatch(word) and os.path.lexists(site.incoming / word):
            waiting.append(word)
        else:
            raise click.ClickException(f"{word}: no such job or ticket")
    return list(found.values()), waiting


def _to_data(record: Record, notes: Notes, now_s: float) -> dict[str, Any]:
    names = (
        "gid", "name", "user", "cores", "nodes", "src", "dst", "dir", "dstdir", "localid", "attempt", "exit", "stop",
        "fallback", "ticket", "created", "since", "requeues", "uploaded_bytes", "shared_bytes", "downloaded_bytes",
    )  # fmt: skip
    data = {name: getattr(record, name) for name in names}
    return {**data, "state": shown_state(record), "final": record.final, "reason": why_there(record, notes, now_s)}


def _row(record: Record, notes: Notes, now_s: float) -> tuple[str, ...]:
    return (
        record.gid, record.name or "-", record.user, str(record.cores), record.dst or "-", record.localid or "-",
        shown_state(record), show_age(now_s - record.since), show_bytes(moved_bytes(record)), record.exit or "-",
        why_there(record, notes, now_s),
    )  # fmt: skip


def _show_queues(site: SiteFiles, notes: Notes, now_s: float, as_json: bool) -> None:
    records = [record for _, record in site.read_records().values() if not record.final]
    rows, data = [], []
    for name in site.file.placing.order:
        known = notes.of(name)
        there = [one for one in records if one.dst == name]
        moving = [one for one in there if is_on_the_way(one)]
        answer = known.answer or {}
        paused = why_paused(site.file.here, name, known)
        data.append(
            {
                "cluster": name, "failures": known.failures, "silent": known.silent, "text": known.text,
                "heard": known.heard, "answered": known.answered, "answer": known.answer, "jobs": len(there),
                "on_the_way": len(moving), "paused": paused,
            }
        )  # fmt: skip
        free = f"{answer['avail']} ({show_age(now_s - known.answered)} ago)" if answer else "-"
        why = "; ".join(filter(None, (paused, known.text)))
        rows.append((name, reached(known), free, str(answer.get("cores", "-")), str(len(moving)), str(len(there)), why))
    if as_json:
        click.echo(json.dumps({"clusters": data, "last_pass": notes.ended}, indent=1))
        return
    _print_table(_QUEUE_HEADS, rows)
    requests = sum(not one.dst for one in records)
    click.echo(f"{requests} requests wait here; the last pass ended {_last_pass(notes, now_s)}")


def _last_pass(notes: Notes, now_s: float) -> str:
    return f"{show_age(now_s - notes.ended)} ago" if notes.ended else "never"


def _print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    lines = [heads, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    for line in lines:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
