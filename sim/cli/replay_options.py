"""What every command that replays a workload needs: the source of the jobs, progress, and one-line errors.

The user's input is checked before the replay, which may take minutes; an error is one line and exit status 2. What was
left out of a trace, or by a policy, is always reported on stderr.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable

import click

from sim.replay.job_records import Replay
from sim.replay.named_policies import Build, Policy, PolicyError, find
from sim.replay.replay import demand_replayable, replay
from sim.report.replay_table_json_and_csv import printable
from sim.traces.read_trace import TraceError, read_traces
from sim.workload.application_contention_traits import KINDS
from sim.workload.generate_parameter_study_jobs import campaign
from sim.workload.lublin_feitelson import generate
from sim.workload.reservation_file import ReservationError, read_reservations
from sim.workload.scale_and_resample import resample, scale_to_load
from sim.workload.think_times import with_think_times
from sim.workload.workload import Cluster, Workload, describe_skipped

_PROGRESS_STEPS = 500


class CommandError(click.ClickException):
    """Input that cannot be used; one line for each problem."""

    exit_code = 2

    def __init__(self, message: object) -> None:
        problems = getattr(message, "problems", [str(message)])
        super().__init__("\n".join(printable(problem) for problem in problems))


@dataclass(frozen=True)
class Source:
    """The user's choice of jobs: a trace (one, or the files of one log), or a generator's options; and the cluster.

    ``load`` is the offered load, and ``resample`` the seed by which users' activity is moved; None: as it is. With
    ``think_times`` users wait for their jobs.
    """

    traces: tuple[Path, ...]
    cluster: str | None
    jobs: int | None
    users: int | None
    seed: int | None
    load: float | None
    applications: str | None = None
    reservations: Path | None = None
    resample: int | None = None
    think_times: bool = False

    def load_workload(self) -> tuple[Workload, Cluster]:
        """The jobs, and the cluster with its reservations. Raises CommandError."""
        return self._shaped(*self._load())

    def load_replicates(self, count: int) -> Iterator[tuple[Workload, Cluster]]:
        """The same with one seed after the other, from the one given: of the generator, or of the resampling. Raises
        CommandError."""
        if self.jobs is not None and self.applications is None:
            seed = 1 if self.seed is None else self.seed
            for number in range(count):
                yield replace(self, seed=seed + number).load_workload()
            return
        if self.resample is None:
            raise CommandError(f"--replicates {count}: only with --generate JOBS or --resample SEED, which draw")
        recorded, cluster = self._load()
        for number in range(count):
            yield replace(self, resample=self.resample + number)._shaped(recorded, cluster)

    def _shaped(self, workload: Workload, cluster: Cluster) -> tuple[Workload, Cluster]:
        """The workload resampled and at its load, and the cluster with its reservations. Raises CommandError."""
        if self.think_times and self.load is not None:
            raise CommandError(f"--think-times: not with --load {self.load:g}: waits were recorded at the trace's load")
        recorded, option = workload, "--resample"
        try:
            if self.resample is not None:
                workload = resample(workload, cluster, self.resample)
            option = "--think-times"
            if self.think_times:
                workload = with_think_times(workload, recorded)
            option = "--load"
            if self.load is not None and self.jobs is None:
                workload = scale_to_load(workload, cluster, self.load)
        except ValueError as error:
            raise CommandError(f"{option}: {error}") from error
        if self.reservations is None:
            return workload, cluster
        try:
            return workload, replace(cluster, reservations=read_reservations(self.reservations, cluster))
        except ReservationError as error:
            raise CommandError(error) from error

    def _load(self) -> tuple[Workload, Cluster]:
        if self.jobs is not None:
            return self._generate(self.jobs)
        self._refuse(
            "only with --generate JOBS",
            {"--users": self.users, "--seed": self.seed, "--applications": self.applications},
        )
        _cluster(self.cluster)
        if not self.traces:
            raise CommandError("no workload: give a TRACE, or --generate JOBS")
        return load_trace(self.traces, self.cluster)

    def _generate(self, jobs: int) -> tuple[Workload, Cluster]:
        self._refuse("only with a TRACE: --generate draws with --seed", {"--resample": self.resample})
        if self.traces:
            raise CommandError(f"--generate {jobs} and TRACE {self.traces[0]}: give one of them, not both")
        cluster = _cluster(self.cluster)
        if cluster is None:
            raise CommandError(f"--generate {jobs}: needs --cluster NODESxCORES, such as 128x16")
        users, seed = 20 if self.users is None else self.users, 1 if self.seed is None else self.seed
        try:
            if self.applications is None:
                return generate(jobs, cluster, users, seed, self.load), cluster
            self._refuse("not with --applications, which draws nothing", {"--users": self.users, "--seed": self.seed})
            return campaign(jobs, cluster, self.applications.split(","), self.load), cluster
        except ValueError as error:
            raise CommandError(f"--generate: {error}") from error

    @staticmethod
    def _refuse(why: str, options: Mapping[str, object]) -> None:
        for option, given in options.items():
            if given is not None:
                raise CommandError(f"{option} {given}: {why}")


def load_trace(paths: Sequence[Path], cluster_text: str | None) -> tuple[Workload, Cluster]:
    """A trace, and the cluster given or else the trace's own. Raises CommandError."""
    given = _cluster(cluster_text)
    try:
        workload = read_traces(paths, given)
    except TraceError as error:
        raise CommandError(error) from error
    cluster = given or workload.cluster
    if cluster is None:
        raise CommandError(f"{workload.name}: no cluster known: give --cluster NODESxCORES, such as 5832x16")
    return workload, cluster


def say_left_out(workload: Workload) -> None:
    """Report on stderr what was left out of a workload when it was read, and what was assumed of its jobs."""
    left_out = describe_skipped(workload.skipped, workload.skipped_lines)
    for sentence in (left_out, *workload.assumed):
        if sentence:
            click.echo(printable(f"{workload.name}: {sentence}"), err=True)


def _cluster(text: str | None) -> Cluster | None:
    try:
        return None if text is None else Cluster.parse(text)
    except ValueError as error:
        raise CommandError(f"--cluster: {error}") from error


def source_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument TRACE and the options beside it to a command, which gets them as `source`."""

    @functools.wraps(command)
    def with_source(
        *,
        trace: tuple[Path, ...],
        cluster: str | None,
        jobs: int | None,
        users: int | None,
        seed: int | None,
        load: float | None,
        applications: str | None,
        reservations: Path | None,
        resample: int | None,
        think_times: bool,
        **others: Any,
    ) -> None:
        source = Source(trace, cluster, jobs, users, seed, load, applications, reservations, resample, think_times)
        command(source=source, **others)

    for decorate in reversed(_SOURCE_OPTIONS):
        with_source = decorate(with_source)
    return with_source


_SOURCE_OPTIONS = (
    click.argument("trace", nargs=-1, type=click.Path(path_type=Path)),
    click.option("--cluster", metavar="NODESxCORES", help="The cluster, such as 5832x16."),
    click.option("--generate", "jobs", type=int, metavar="JOBS", help="Draw so many jobs instead of reading a TRACE."),
    click.option("--users", type=int, metavar="N", help="With --generate: users. [20]"),
    click.option("--seed", type=int, metavar="S", help="With --generate: the same seed draws the same jobs. [1]"),
    click.option(
        "--load", type=float, metavar="L", help="Offered load, 1 fills every core: jobs come so much closer or later."
    ),
    click.option(
        "--resample",
        type=int,
        metavar="SEED",
        help="With a TRACE: move each user's jobs by a number of weeks drawn with this seed.",
    ),
    click.option(
        "--think-times",
        is_flag=True,
        help="With a TRACE: users submit a while after their last batch has ended.",
    ),
    click.option(
        "--applications",
        metavar="KIND[,KIND...]",
        help=f"With --generate: equal jobs of these kinds instead, one after the other ({', '.join(sorted(KINDS))}).",
    ),
    click.option(
        "--reservations",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Reservations of the cluster's nodes, TOML; ordinary jobs keep clear of them.",
    ),
)


@dataclass(frozen=True)
class Sharing:
    """Whether jobs that share nodes slow each other down, and the seed by which the nodes differ (None: are alike)."""

    contention: bool
    uneven: int | None

    def apply(self, workload: Workload, cluster: Cluster) -> tuple[Workload, Cluster]:
        """The workload under a name that says so, and the cluster with its uneven nodes."""
        if not self.contention:
            return workload, cluster
        on = "" if self.uneven is None else f" on uneven nodes (seed {self.uneven})"
        workload = replace(workload, name=f"{workload.name}, sharing memory bandwidth{on}")
        return workload, replace(cluster, uneven=self.uneven)


def sharing_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --contention and --readings to a command, which gets them as `sharing`."""

    @functools.wraps(command)
    def with_sharing(*, contention: bool, uneven: int | None, **others: Any) -> None:
        command(sharing=Sharing(contention or uneven is not None, uneven), **others)

    for decorate in reversed(_SHARING_OPTIONS):
        with_sharing = decorate(with_sharing)
    return with_sharing


_SHARING_OPTIONS = (
    click.option(
        "--contention",
        is_flag=True,
        help="Jobs that share nodes share their memory bandwidth, and slow each other down.",
    ),
    click.option(
        "--readings",
        "uneven",
        type=int,
        metavar="SEED",
        help="The same on nodes that differ (cooling, background load), drawn with this seed; they report readings.",
    ),
)


def policy_option(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option --policy, passed as `policy_names`; `default` is the default shown in the help."""
    return click.option(
        "--policy", "policy_names", metavar="NAME|FILE", multiple=True, help=f"A policy; repeat to compare. [{default}]"
    )


def find_policies(names: Sequence[str]) -> list[Build]:
    """Functions that build the policies of these names or files for a workload. Called before a workload is read, so
    that a wrong name is reported at once. Raises CommandError.
    """
    try:
        return list(map(find, names))
    except ValueError as error:
        raise CommandError(error) from error


def replay_each(
    workload: Workload,
    cluster: Cluster,
    policies: Sequence[Policy],
    *,
    contention: bool = False,
    keep_runs: bool = False,
    quiet: bool = False,
) -> Iterator[Replay]:
    """Replay policy by policy, each with a progress bar on stderr, where jobs left out by reading (unless ``quiet``) or
    by a policy are reported. With ``keep_runs`` the records have each run.

    Raises CommandError before the first replay for a policy that cannot be replayed so, and for contention on a cluster
    with reservations: jobs that slow each other down outlive their estimates, by which a reservation's nodes are free
    when it begins. Raises it too for a policy under which no job ever starts.
    """
    if contention and cluster.reservations:
        raise CommandError("--contention: not with --reservations: jobs exceed their estimates, and run into them")
    try:
        for policy in policies:
            demand_replayable(workload, cluster, policy, contention=contention)
    except PolicyError as error:
        raise CommandError(error) from error
    if not quiet:
        say_left_out(workload)
    for policy in policies:
        with progress(policy.name, len(workload.jobs)) as show:
            result = replay(workload, cluster, policy, show, contention=contention, keep_runs=keep_runs)
        beyond = {cause: count for cause, count in result.skipped.items() if workload.skipped.get(cause) != count}
        if beyond:
            click.echo(printable(f"policy {policy.name}: {describe_skipped(beyond, {})}"), err=True)
        if not result.records:
            raise CommandError(f"policy {policy.name}: not one of the jobs could ever start")
        yield result


@contextmanager
def progress(label: str, length: int) -> Iterator[Callable[[int], None] | None]:
    """A progress bar on stderr: yields a function that takes how much of `length` is done; None where stderr is no
    terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    steps = max(1, length // _PROGRESS_STEPS)
    with click.progressbar(
        length=length, label=printable(label), file=sys.stderr, show_pos=True, width=24, update_min_steps=steps
    ) as bar:
        yield lambda done: bar.update(done - bar.pos)
        bar.update(length - bar.pos)
