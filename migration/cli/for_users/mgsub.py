"""``mgsub``: leaves one request, or a batch, in the drop box. It is checked here, and again by the service."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import stat
from collections.abc import Mapping
from typing import Any, TextIO

import click

from migration.as_user.user_files.folder_tree_listing import find_home_problem
from migration.cli.open_site_for_users import HELP, SiteFiles, open_site_files, own_name
from migration.cli.printable_error_for_click import shown_problem
from migration.passes.source.take_in_submissions_and_stops import SUBMIT
from migration.passes.source.validate_submission import SubmissionError, make_submission
from migration.spool.drop_box import DropError, drop
from policy.migration.job_record_and_copy_updates import ANY
from policy.model.pbs_units import UnitError, parse_duration_s, parse_size_kib

_SIZE = re.compile(r"([0-9]{1,12}[kmgt])b?", re.IGNORECASE)


def _read_duration(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Seconds."""
    try:
        return None if value is None else parse_duration_s(value)
    except UnitError as error:
        raise click.BadParameter(str(error)) from error


def _read_memory(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """MiB, rounded up."""
    if value is None:
        return None
    match = _SIZE.fullmatch(value)
    if match is None:
        raise click.BadParameter(f"{value!r}: must be a whole number with kb, mb, gb or tb, such as 4gb")
    return -(-parse_size_kib(f"{match[1]}b") // 1024)


@click.command("mgsub", context_settings={**HELP, "allow_interspersed_args": False})
@click.option("-t", "want", default=ANY, metavar="CLUSTER|local|any", help="Where it may run.  [any]")
@click.option("-n", "cores", type=click.IntRange(1), metavar="CORES", help="Cores in all. Must be given.")
@click.option("-N", "nodes", type=click.IntRange(1), metavar="NODES", help="On so many hosts, equally many on each.")
@click.option(
    "-w",
    "walltime",
    metavar="HH:MM:SS",
    callback=_read_duration,
    help="The longest it may run. May be left out if the site allows it.",
)
@click.option("-m", "mem", metavar="SIZE", callback=_read_memory, help="Memory on each node, such as 4gb; with -N.")
@click.option("-g", "gpus", type=click.IntRange(1), metavar="GPUS", help="GPUs on each node; with -N.")
@click.option(
    "-b", "build", multiple=True, metavar="COMMAND", help="Build command, run where the job goes; may repeat."
)
@click.option("-s", "shared", multiple=True, metavar="FILE", help="Input outside DIR that many jobs share; may repeat.")
@click.option("-x", "exclude", multiple=True, metavar="GLOB", help="Files of DIR that stay here; may repeat.")
@click.option("--no-stage-back", "nostage", multiple=True, metavar="GLOB", help="Results that stay there; may repeat.")
@click.option("-e", "env", multiple=True, metavar="NAME=VALUE", help="A variable for the program; may repeat.")
@click.option("-j", "name", default="", metavar="NAME", help="A name for mgstat.")
@click.option("-f", "batch", type=click.File(), metavar="LIST", help="One submission a line, as here; all or none.")
@click.argument("words", nargs=-1, metavar="DIR PROGRAM [ARG]...")
def main(*, batch: TextIO | None, words: tuple[str, ...], **options: Any) -> None:
    """Submit a job that may run on any cluster of the site.

    It runs PROGRAM in DIR: here if this cluster can start it now, else on the first cluster that can, with DIR and its
    shared files, and what is new in DIR comes back. PROGRAM is a file of DIR, or a program that each cluster has.

    It prints a ticket; mgstat TICKET shows the jobs, also before they have an id.
    """
    site = open_site_files()
    if batch is None:
        requests = [_read(site, words, options)]
    else:
        if words or any(value and value != ANY for value in options.values()):
            raise click.UsageError("-f LIST: each line has its own options, folder and program; no others are allowed")
        requests = _read_batch(site, batch)
    try:
        ticket = drop(site.incoming, [{"do": SUBMIT, **request} for request in requests])
    except DropError as error:
        raise shown_problem(error) from error
    click.echo(ticket)


def _read_batch(site: SiteFiles, batch: TextIO) -> list[dict[str, Any]]:
    requests = []
    for number, line in enumerate(batch, 1):
        where = f"{batch.name}, line {number}: "
        try:
            words = shlex.split(line, comments=True)
            if words:
                with main.make_context("mgsub", words) as context:
                    given = dict(context.params)
                if given.pop("batch") is not None:
                    raise click.UsageError("-f: a list has no lists")
                requests.append(_read(site, given.pop("words"), given))
        except click.exceptions.Exit as error:
            raise click.UsageError(f"{where}asks for help") from error
        except click.ClickException as error:
            raise click.UsageError(where + error.format_message()) from error
        except ValueError as error:
            raise click.UsageError(f"{where}{error}") from error
    if not requests:
        raise click.UsageError(f"{batch.name}: has no submissions")
    return requests


def _read(site: SiteFiles, words: tuple[str, ...], options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of one request, checked as the service will."""
    if len(words) < 2:
        raise click.UsageError("must be followed by DIR and PROGRAM")
    if options["cores"] is None:
        raise click.UsageError("-n CORES must be given")
    fields = {name: value for name, value in options.items() if value}
    fields["dir"] = _find_folder(words[0])
    fields["shared"] = tuple(map(_find_shared, options["shared"]))
    fields["prog"], *arguments = words[1:]
    fields["args"] = tuple(arguments)
    try:
        make_submission(fields, own_name(), site.file)
    except SubmissionError as error:
        raise click.UsageError(str(error)) from error
    if not options["build"]:
        _check_program(fields["dir"], fields["prog"])
    return fields


def _find_folder(word: str) -> str:
    """The folder's real path. It must be the user's own."""
    path = os.path.realpath(word)
    try:
        info = os.stat(path)  # noqa: PTH116
    except OSError as error:
        raise click.UsageError(f"{word}: {error.strerror}") from error
    if not stat.S_ISDIR(info.st_mode):
        raise click.UsageError(f"{word}: is no folder")
    if info.st_uid != os.getuid():
        raise click.UsageError(f"{word}: belongs to another user; a job's folder must be the user's own")
    problem = find_home_problem(path, os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir))
    if problem:
        raise click.UsageError(problem)
    return path


def _check_program(folder: str, program: str) -> None:
    """A program of the folder must be there. One of another place may be one that each cluster has."""
    path = os.path.normpath(f"{folder}/{program}" if not program.startswith("/") else program)
    if "/" in program and path.startswith(f"{folder}/") and not os.access(path, os.X_OK):
        raise click.UsageError(f"{program}: is no program in {folder} that this user can run, and no -b builds it")


def _find_shared(word: str) -> str:
    path = os.path.realpath(word)
    if not os.path.isfile(path) or not os.access(path, os.R_OK):  # noqa: PTH113
        raise click.UsageError(f"-s {word}: is no file that this user can read")
    return path
