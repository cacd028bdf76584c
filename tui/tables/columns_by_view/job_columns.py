"""The columns of the jobs view: a job's request, how long it has run or waited, and its outcome."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from hooks.pbs.job_attributes.job_ids_and_states import is_array, is_subjob, parent_of
from policy.model.pbs_units import show_job
from tui.model.job_efficiency import LOW, Shares
from tui.model.typed_attributes import (
    RUNNING_STATES,
    WAITING_STATES,
    Attributes,
    amount,
    group_of,
    moment,
    seconds,
    subjobs_waiting,
    user_of,
    vnodes_of,
)
from tui.state.cluster_view import ClusterView
from tui.state.ended_jobs import ended_at
from tui.tables.columns import SPARE, Column
from tui.tables.columns_by_view.job_start_and_end import expected_end, likely_start, real_end, started_at
from tui.tables.columns_by_view.planned_job_outcome import outcome_of
from tui.tables.filter_line import SizeKib, Value
from tui.text.memory_amount_as_text import in_bytes
from tui.text.screen_line import Line, plain, safe
from tui.text.text_bars import thin_bar
from tui.text.times_and_durations import day_and_time, short_span, show_hms

_DONE_CELLS = 13
"""The cells of the bar of the walltime and its per cent."""
_NO_PROJECT = "_pbs_project_default"
_ORDER = (
    "id", "user", "queue", "state", "cores", "gpus", "mem", "walltime", "time", "left", "done", "eff", "memeff",
    "gpueff", "name", "group", "project", "wait", "submitted", "starts", "starts-by", "ends", "ended", "why",
)  # fmt: skip
"""The names of all columns, from left to right."""
_STATE_ROLES = {"R": "good", "B": "good", "H": "warn", "S": "warn", "U": "warn", "E": "dim", "F": "dim"}


class _Jobs:
    """The jobs of a cluster view by id, including ended ones if they were requested."""

    def __init__(self, cluster: ClusterView) -> None:
        self._cluster = cluster

    def __getitem__(self, job_id: str) -> Attributes:
        return self._cluster.job(job_id) or {}

    def state(self, job_id: str) -> str:
        """The letter of the job's state."""
        return self[job_id].get("job_state", "?")

    def walltime_s(self, job_id: str) -> float | None:
        """The walltime that the job asks for, in seconds; None if it asks for none."""
        return seconds(self[job_id], "Resource_List.walltime")


def job_columns(cluster: ClusterView) -> list[Column[str]]:
    """The columns over the job ids of this cluster view."""
    jobs = _Jobs(cluster)
    groups = (
        _name_columns(cluster, jobs),
        _request_columns(cluster, jobs),
        _span_columns(cluster, jobs),
        _moment_columns(cluster, jobs),
        _efficiency_columns(cluster),
        _outcome_columns(cluster),
    )
    return sorted((column for group in groups for column in group), key=lambda column: _ORDER.index(column.name))


def _name_columns(cluster: ClusterView, jobs: _Jobs) -> list[Column[str]]:
    """The job's id, state and name, and whose it is."""

    def number(job_id: str) -> int:
        digits = show_job(job_id).partition("[")[0]
        return int(digits) if digits.isascii() and digits.isdigit() else 0

    def show_id(job_id: str) -> Line:
        return (("  " if is_subjob(job_id) else "", ""), (safe(show_job(job_id)), ""))

    def show_state(job_id: str) -> Line:
        letter = jobs.state(job_id)
        shown = letter
        if is_array(job_id):
            running = cluster.counts.subjobs_running[job_id]
            shown = f"{letter} {running}+{subjobs_waiting(jobs[job_id])}" if letter != "F" else letter
        return ((safe(shown), _STATE_ROLES.get(letter, "")),)

    def user(job_id: str) -> str:
        return user_of(jobs[job_id])

    def group(job_id: str) -> str:
        return group_of(jobs[job_id])

    def queue(job_id: str) -> str:
        return jobs[job_id].get("queue", "")

    def name(job_id: str) -> str:
        return jobs[job_id].get("Job_Name", "")

    def project(job_id: str) -> str:
        return jobs[job_id].get("project", "")

    def show_project(job_id: str) -> Line:
        found = project(job_id)
        return (("-", "dim"),) if found == _NO_PROJECT else ((safe(found), ""),)

    def text(of: Callable[[str], str]) -> Callable[[str], Line]:
        return lambda job_id: ((safe(of(job_id)), ""),)

    return [
        Column("id", "job", 4, number, show_id, most=28, export_value=lambda job_id: job_id, names=True),
        Column("user", "user", 5, user, text(user), most=32, names=True),
        Column("queue", "queue", 5, queue, text(queue), rank=3, most=24, names=True),
        Column("state", "state", 6, jobs.state, show_state, most=16),
        Column("name", "name", 8, name, text(name), rank=2, most=40),
        Column("group", "group", 8, group, text(group), rank=SPARE, most=32, names=True),
        Column("project", "project", 10, project, show_project, rank=SPARE + 1, most=40, names=True),
    ]


def _request_columns(cluster: ClusterView, jobs: _Jobs) -> list[Column[str]]:
    """What the job asks for."""

    def cores(job_id: str) -> int:
        return amount(jobs[job_id], f"Resource_List.{cluster.counted}")

    def show_cores(job_id: str) -> Line:
        return ((f"{cores(job_id):,}", ""),)

    def gpus(job_id: str) -> int:
        return amount(jobs[job_id], "Resource_List.ngpus")

    def show_gpus(job_id: str) -> Line:
        return ((f"{gpus(job_id):,}", ""),) if gpus(job_id) else (("-", "dim"),)

    def memory(job_id: str) -> SizeKib:
        return SizeKib(amount(jobs[job_id], "Resource_List.mem"))

    def show_memory(job_id: str) -> Line:
        return ((in_bytes(memory(job_id)), ""),) if memory(job_id) else (("-", "dim"),)

    def show_walltime(job_id: str) -> Line:
        return ((show_hms(jobs.walltime_s(job_id)), ""),)

    return [
        Column("cores", cluster.counted, len(cluster.counted) + 1, cores, show_cores, ">"),
        *([Column("gpus", "gpus", 4, gpus, show_gpus, ">", 5)] if _has_gpus(cluster) else []),
        Column("mem", "mem", 6, memory, show_memory, ">", 6),
        Column("walltime", "walltime", 9, jobs.walltime_s, show_walltime, ">", 7),
    ]


def _span_columns(cluster: ClusterView, jobs: _Jobs) -> list[Column[str]]:
    """How long the job has run or waited, and how much of its walltime is left."""

    def elapsed_s(job_id: str) -> float | None:
        return elapsed_of(cluster, job_id)

    def show_elapsed(job_id: str) -> Line:
        # Coarse, so that a refresh without other changes rewrites hardly any row.
        since_s = elapsed_s(job_id)
        return (("-" if since_s is None else short_span(since_s), ""),)

    def waited_s(job_id: str) -> float | None:
        return elapsed_s(job_id) if jobs.state(job_id) in WAITING_STATES else None

    def left_s(job_id: str) -> float | None:
        began_s, length_s = started_at(jobs[job_id]), jobs.walltime_s(job_id)
        running = jobs.state(job_id) in RUNNING_STATES
        return began_s + length_s - cluster.now_s if running and began_s is not None and length_s is not None else None

    def show_left(job_id: str) -> Line:
        found = left_s(job_id)
        if found is None:
            return (("-", "dim"),)
        return ((short_span(found), ""),) if found > 0 else (("over", "bad"),)

    def done(job_id: str) -> int | None:
        """How much of its walltime a running job has had, in per cent, rounded down."""
        found, length_s = left_s(job_id), jobs.walltime_s(job_id)
        return None if found is None or not length_s else int(100 * (1 - found / length_s))

    def show_done(job_id: str) -> Line:
        found = done(job_id)
        if found is None:
            return ()
        return *thin_bar(found, 100, _DONE_CELLS - 5), (f" {min(found, 999):3d}%", "" if found < 100 else "bad")

    return [
        Column("time", "time", 6, elapsed_s, show_elapsed, ">", 1),
        Column("left", "left", 7, left_s, show_left, ">", 4),
        Column("done", "done", _DONE_CELLS, done, show_done, rank=8),
        Column("wait", "waited", 9, waited_s, lambda job_id: ((show_hms(waited_s(job_id)), ""),), ">", SPARE + 2),
    ]


def _moment_columns(cluster: ClusterView, jobs: _Jobs) -> list[Column[str]]:
    """When the job was submitted, starts and ends; filters compare the time until or since then."""

    def submitted_s(job_id: str) -> float | None:
        return moment(jobs[job_id], "qtime", "ctime")

    def starts_s(job_id: str) -> float | None:
        return started_at(jobs[job_id]) or likely_start(cluster, job_id)

    def starts_by_s(job_id: str) -> float | None:
        return started_at(jobs[job_id]) or likely_start(cluster, job_id, nine_tenths=True)

    def until(of: Callable[[str], float | None]) -> Callable[[str], float | None]:
        """The time until then, in seconds."""
        return lambda job_id: None if (at_s := of(job_id)) is None else at_s - cluster.now_s

    def ago(of: Callable[[str], float | None]) -> Callable[[str], float | None]:
        return lambda job_id: None if (at_s := of(job_id)) is None else cluster.now_s - at_s

    def time_column(
        name: str,
        of: Callable[[str], float | None],
        filter_value: Callable[[str], float | None],
        rank: int,
    ) -> Column[str]:
        def show(job_id: str) -> Line:
            at_s = of(job_id)
            return ((day_and_time(at_s, cluster.now_s) if at_s is not None else "-", ""),)

        return Column(name, name, 16, of, show, rank=SPARE + rank, filter_value=filter_value)

    return [
        time_column("submitted", submitted_s, ago(submitted_s), 5),
        time_column("starts", starts_s, until(lambda job_id: likely_start(cluster, job_id)), 4),
        time_column("starts-by", starts_by_s, until(lambda job_id: likely_start(cluster, job_id, nine_tenths=True)), 7),
        time_column("ends", lambda job_id: expected_end(cluster, job_id), until(lambda j: expected_end(cluster, j)), 3),
        time_column("ended", lambda job_id: real_end(cluster, job_id), ago(lambda j: real_end(cluster, j)), 6),
    ]


def _efficiency_columns(cluster: ClusterView) -> list[Column[str]]:
    """How much of what the job was given it uses, in per cent."""

    def percent(of: Callable[[Shares], float | None]) -> Callable[[str], int | None]:
        """The share in whole per cent, as filters compare it."""
        return lambda job_id: None if (share := of(cluster.shares(job_id))) is None else round(100 * share)

    def share_column(name: str, of: Callable[[Shares], float | None], rank: int) -> Column[str]:
        value = percent(of)

        def show(job_id: str) -> Line:
            found = value(job_id)
            if found is None:
                return (("-", "dim"),)
            return ((f"{found}%", "warn" if found < 100 * LOW and name != "memeff" else ""),)

        return Column(name, name, max(4, len(name)), value, show, ">", rank)

    return [
        share_column("eff", lambda shares: shares.cpu, 1),
        share_column("memeff", lambda shares: shares.memory, SPARE + 8),
        *([share_column("gpueff", lambda shares: shares.gpu, SPARE + 9)] if _has_gpus(cluster) else []),
    ]


def _outcome_columns(cluster: ClusterView) -> list[Column[str]]:
    """Where the job runs, or why it waits."""

    def why(job_id: str) -> str:
        return plain(outcome_of(cluster, job_id))

    def show_why(job_id: str) -> Line:
        line = outcome_of(cluster, job_id, briefly=True)
        return (("idle · ", "warn"), *line) if cluster.shares(job_id).is_idle else line

    return [Column("why", "where, or why not", 0, why, show_why)]


def _has_gpus(cluster: ClusterView) -> bool:
    return cluster.counts.vnodes.gpus[1] > 0


def job_fields_also(cluster: ClusterView) -> dict[str, Callable[[str], Value]]:
    """Further filter fields without a column: the counted resource by its own name, the id by its title, of a subjob
    also its array's, the vnodes of a job, of an array those of its running subjobs, and the exit status of an ended
    job."""
    jobs = _Jobs(cluster)

    def vnodes(job_id: str) -> tuple[str, ...]:
        placed = (jobs[each].get("exec_vnode", "") for each in (job_id, *cluster.subjob_ids.get(job_id, ())))
        return tuple(dict.fromkeys(chain.from_iterable(map(vnodes_of, placed))))

    return {
        cluster.counted: lambda job_id: amount(jobs[job_id], f"Resource_List.{cluster.counted}"),
        "job": lambda job_id: tuple(dict.fromkeys((show_job(job_id), show_job(parent_of(job_id))))),
        "exit": lambda job_id: _exit_status(jobs[job_id]),
        "vnode": vnodes,
    }


def _exit_status(attributes: Attributes) -> int | None:
    try:
        return int(attributes.get("Exit_status", ""))
    except ValueError:
        return None


def elapsed_of(cluster: ClusterView, job_id: str) -> float | None:
    """How long the job runs, ran, or has waited since it was submitted, in seconds; None if unknown."""
    attributes = cluster.job(job_id) or {}
    if attributes.get("job_state") == "F":
        began_s, ended_s = moment(attributes, "stime"), ended_at(attributes)
        return None if began_s is None or ended_s is None else max(0.0, ended_s - began_s)
    running = attributes.get("job_state") in RUNNING_STATES
    since_s = moment(attributes, "stime") if running else moment(attributes, "qtime", "ctime", "etime")
    return None if since_s is None else max(0.0, cluster.now_s - since_s)
