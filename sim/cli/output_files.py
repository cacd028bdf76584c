"""The files that a command writes by its options: what could not be written is refused before the replays.

A failure while one is written becomes a line that names the option and the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from tempfile import TemporaryFile
from typing import Callable

import click

from sim.cli.replay_options import CommandError
from sim.replay.job_records import Replay
from sim.report.plot_format_styles_and_labels import PlotError, check_plot
from sim.report.replay_table_json_and_csv import csv_paths, write_jobs_csv
from sim.report.runs_csv import write_runs_csv

_FOR_EACH_POLICY = ("--jobs-csv", "--runs-csv")


def file_option(option: str, text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """An option that names a file to write; `--plot` is passed as `plot_file`."""
    name = option.strip("-").replace("-", "_") + "_file"
    return click.option(option, name, type=click.Path(path_type=Path), metavar="FILE", help=text)


def check_writable(files: Mapping[str, Path | None], policies: Sequence[str] = ("",)) -> None:
    """Refuse, before the work, files (by option) that could not be written later, and a file that two options name.
    Options for runs and jobs have a file for each of the ``policies``. The file of --plot must be a picture.
    """
    taken: dict[Path, str] = {}
    for option, named in files.items():
        if named is None:
            continue
        for path in csv_paths(named, policies) if option in _FOR_EACH_POLICY else [named]:
            _check_place(option, path)
            other = taken.setdefault(path.resolve(), option)
            if other != option:
                raise CommandError(f"{option} {path}: {other} writes this file too; give each a file of its own")
    plot = files.get("--plot")
    if plot is not None:
        try:
            check_plot(plot)
        except PlotError as error:
            raise CommandError(f"--plot: {error}") from error


def _check_place(option: str, path: Path) -> None:
    with writing(option, path):
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            mode = 0
        if S_ISDIR(mode) or not path.parent.is_dir():
            raise CommandError(f"{option} {path}: must be a file in a folder that exists")
        # Tried, as rights alone do not say it: a file system may be read-only or full.
        if not mode:
            TemporaryFile(dir=path.parent).close()
        elif S_ISREG(mode):
            path.open("r+b").close()


class FilesOfEachPolicy:
    """The files of --jobs-csv and --runs-csv: those of a policy are written as soon as it has been replayed."""

    def __init__(self, jobs_csv: Path | None, runs_csv: Path | None, policies: Sequence[str]) -> None:
        self._jobs = csv_paths(jobs_csv, policies) if jobs_csv else []
        self._runs = csv_paths(runs_csv, policies) if runs_csv else []

    @property
    def has_runs(self) -> bool:
        """Whether the replays have to keep their runs."""
        return bool(self._runs)

    def write(self, number: int, result: Replay) -> None:
        """Write the files of the policy with this number in order."""
        if self._jobs:
            with writing("--jobs-csv", self._jobs[number]):
                write_jobs_csv(self._jobs[number], result.records)
        if self._runs:
            with writing("--runs-csv", self._runs[number]):
                write_runs_csv(self._runs[number], result.records)


@contextmanager
def writing(option: str, path: Path) -> Iterator[None]:
    """Turn a failure to write the file of an option into one line that names both."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"{option} {path}: {error.strerror}") from error
