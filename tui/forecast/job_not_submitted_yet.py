"""A job that is not submitted yet, as the server would show it: with the defaults of its queue and the server.

It is read by the same translation as every other job. What would start sooner is the same job with half the walltime,
with half as many chunks, or in another queue.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from hooks.pbs.server_status_type_and_attributes import Attributes, ServerStatus
from policy.model.job_request import RequestError, parse_request
from policy.model.pbs_units import UnitError, parse_amount, parse_duration_s
from tui.model.reservation_of_queue import SCHEDULER_STARTS, reservation_of
from tui.state.cluster_view import ClusterView
from tui.text.times_and_durations import show_hms

NEW_JOB = "9999999999.not-submitted"
"""Its id: behind all jobs that were submitted in the same second."""

_LEAST_WALLTIME_S = 60
_MOST_QUEUES = 4
_CHUNKS = re.compile(r"([0-9]{1,9})(?=:|\Z)")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_TOGETHER = ("ncpus", "mem", "ngpus", "mpiprocs", "vmem")
"""Resources that may be given without a select, and then make one chunk."""
_OF_SELECT = frozenset({*_TOGETHER, "select", "nodes", "nodect", "ompthreads"})
"""What a select says already, or PBS sums up from it."""


class ProposedJobError(ValueError):
    """A request that PBS would refuse, or that is not understood; the message says what is allowed."""


@dataclass(frozen=True)
class ProposedJob:
    """What ``qsub`` would be given: resources by name (``select``, ``walltime``, ``place`` and others), the queue and
    the user."""

    resources: Mapping[str, str]
    queue: str
    user: str

    @property
    def walltime_s(self) -> float | None:
        """The asked walltime in seconds; None without one."""
        text = self.resources.get("walltime")
        return None if text is None else float(parse_duration_s(text))


def read_resources(given: Sequence[str]) -> dict[str, str]:
    """The resources of several ``-l`` options, each ``name=value`` or several of them, separated by commas; without a
    ``select`` where none was given (:func:`complete`). Raises :class:`ProposedJobError`."""
    found: dict[str, str] = {}
    for text in given:
        for part in _split(text):
            name, equals, value = part.partition("=")
            if not equals or not value or not _NAME.fullmatch(name):
                raise ProposedJobError(
                    f"-l {text!r}: allowed is NAME=VALUE, such as select=2:ncpus=8 or walltime=4:00:00"
                )
            if name in found:
                raise ProposedJobError(f"-l {name} is given twice")
            found[name] = value
    if "nodes" in found:
        raise ProposedJobError("-l nodes= is PBS's old form: give -l select=CHUNKS:ncpus=CORES")
    if "select" in found and any(name in found for name in _TOGETHER):
        raise ProposedJobError(
            "beside -l select= the cores and memory go into the select, as in select=2:ncpus=8:mem=16gb"
        )
    if "place" in found and "select" not in found:
        raise ProposedJobError("-l place= needs -l select=, beside which PBS takes it")
    try:
        parse_request(_select_of(found), found.get("place", ""))
        if "walltime" in found:
            parse_duration_s(found["walltime"])
    except (RequestError, UnitError) as error:
        raise ProposedJobError(f"-l: {error}") from error
    return found


def _select_of(resources: Mapping[str, str]) -> str:
    """The select, or the one chunk that PBS makes of resources without one."""
    chunk = [f"{name}={resources[name]}" for name in _TOGETHER if name in resources]
    return resources.get("select") or ":".join(["1", *(chunk or ["ncpus=1"])])


def _split(text: str) -> Iterator[str]:
    """The parts between commas; a comma without a name behind it belongs to the value before, as in a list."""
    parts: list[str] = []
    for part in text.split(","):
        if parts and "=" not in part:
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    yield from parts


def complete(cluster: ClusterView, resources: Mapping[str, str], queue: str, user: str) -> ProposedJob:
    """The proposed job with the defaults of its queue and the server. Raises :class:`ProposedJobError` for a queue or a
    resource that is none, and for the queue of a reservation."""
    _demand_resources(cluster, resources)
    server = cluster.server_status.server
    name = queue or server.get("default_queue", "")
    there = [each for each, texts in cluster.server_status.queues.items() if _is_execution(texts)]
    if name not in there:
        what = "a routing queue" if name in cluster.server_status.queues else "no queue of this server"
        raise ProposedJobError(
            f"-q {name or 'QUEUE'}: {what if name else 'must be given'}; there are {', '.join(sorted(there))}"
        )
    reservation = reservation_of(cluster.server_status, name)
    if reservation is not None:
        about = f"the queue of {reservation.describe(cluster.now_s)}"
        raise ProposedJobError(f"-q {name}: {about}: {SCHEDULER_STARTS}, which no forecast has")
    return _with_defaults(cluster, ProposedJob(dict(resources), name, user))


def _demand_resources(cluster: ClusterView, resources: Mapping[str, str]) -> None:
    """A misspelt walltime would be a job without one. Where the server does not list all resources, as Torque and
    Slurm do not, nothing is refused."""
    there = cluster.server_status.resources
    chunks = parse_request(_select_of(resources)).chunks
    named = {*resources, *(name for chunk in chunks for name, _ in (*chunk.amounts, *chunk.wants))}
    unknown = sorted(named - {*there, "select", "place"})
    if "walltime" in there and unknown:
        raise ProposedJobError(f"-l: this server has no resource {', '.join(map(repr, unknown))}")


def _with_defaults(cluster: ClusterView, proposed: ProposedJob) -> ProposedJob:
    """The job with what PBS sets where it says nothing (``set_resc_deflt``): defaults of the queue, then of the server,
    then the largest amounts that the queue and the server allow; and a select, made of these where none is given."""
    queue, server = cluster.server_status.queues[proposed.queue], cluster.server_status.server
    found = dict(proposed.resources)
    has_select = "select" in found
    for kind, texts in product(("resources_default", "resources_max"), (queue, server)):
        for name, text in texts.items():
            prefix, _, resource = name.partition(".")
            # Neither chunks nor their arrangement come from the largest amounts, nor anything that a select says.
            is_left_out = kind == "resources_max" and resource in ("select", "place")
            if prefix == kind and not is_left_out and not (has_select and resource in _OF_SELECT):
                found.setdefault(resource, text)
    if "select" not in found:
        # PBS packs the one chunk that it makes, whatever place the defaults have (set_select_and_place).
        found.pop("place", None)
    chunk: dict[str, str] = {}
    for texts in (queue, server):
        for name, text in texts.items():
            prefix, _, resource = name.partition(".")
            if prefix == "default_chunk":
                chunk.setdefault(resource, text)
    chunk.setdefault("ncpus", "1")
    select = "+".join(_chunk_with(part, chunk) for part in _select_of(found).split("+"))
    resources = {name: text for name, text in found.items() if name not in _OF_SELECT}
    return replace(proposed, resources={**resources, "select": select})


def _chunk_with(part: str, chunk: Mapping[str, str]) -> str:
    known = {piece.partition("=")[0] for piece in part.split(":")}
    return ":".join([part, *(f"{name}={text}" for name, text in sorted(chunk.items()) if name not in known)])


def alternatives(
    cluster: ClusterView, proposed: ProposedJob, asked: Mapping[str, str]
) -> list[tuple[str, ProposedJob]]:
    """What might start sooner, with its name; ``asked`` are the resources without defaults."""
    found: list[tuple[str, ProposedJob]] = []
    walltime_s = proposed.walltime_s
    if walltime_s is not None and walltime_s >= 2 * _LEAST_WALLTIME_S:
        half = show_hms(walltime_s // 2)
        found.append(
            (f"with half the walltime, {half}", replace(proposed, resources={**proposed.resources, "walltime": half}))
        )
    fewer = _half_as_many(proposed.resources["select"])
    if fewer is not None:
        found.append(
            (f"with half as many chunks, {fewer}", replace(proposed, resources={**proposed.resources, "select": fewer}))
        )
    for name, texts in cluster.server_status.queues.items():
        if name != proposed.queue and _takes_jobs(texts) and name in cluster.modes and len(found) < _MOST_QUEUES + 2:
            other = _with_defaults(cluster, ProposedJob(asked, name, proposed.user))
            if not find_refusals(cluster, other):
                found.append((f"in queue {name}", other))
    return found


def _half_as_many(select: str) -> str | None:
    """The select with half as many chunks of each kind; None if none has two."""
    halved = []
    for part in select.split("+"):
        count = _CHUNKS.match(part)
        number = int(count[1]) if count else 1
        rest = part[count.end() :] if count else f":{part}"
        halved.append(f"{max(1, number // 2)}{rest}")
    fewer = "+".join(halved)
    return None if parse_request(fewer).cores == parse_request(select).cores else fewer


def find_refusals(cluster: ClusterView, proposed: ProposedJob) -> list[str]:
    """Why PBS would not take the job into its queue, as far as the server status shows; the site's hooks may refuse it
    too."""
    found = []
    queue, server = cluster.server_status.queues[proposed.queue], cluster.server_status.server
    whose = f"queue {proposed.queue}"
    for place, texts in ((whose, queue), ("the server", server)):
        if texts.get("acl_user_enable") == "True" and not _is_named(proposed.user, texts.get("acl_users", "")):
            found.append(f"{place} does not take jobs of {proposed.user} (acl_users)")
    # The server's largest amount counts only where the queue has none, its least amount never (chk_resc_limits).
    if proposed.walltime_s is not None:
        place, most = _find_most("walltime", whose, queue, server)
        found += [f"{place} takes walltimes up to {most}"] if most and proposed.walltime_s > _seconds(most) else []
        least = queue.get("resources_min.walltime", "")
        found += [f"{whose} takes walltimes from {least} on"] if least and proposed.walltime_s < _seconds(least) else []
    place, most = _find_most("ncpus", whose, queue, server)
    cap = parse_amount(most)
    if cap is not None and parse_request(proposed.resources["select"]).cores > cap:
        found.append(f"{place} takes jobs of up to {cap:,} cores")
    if cluster.server_status.queues[proposed.queue].get("enabled") == "False":
        found.append(f"queue {proposed.queue} takes no jobs now (enabled = False)")
    return found


def _find_most(resource: str, whose: str, queue: Attributes, server: Attributes) -> tuple[str, str]:
    """Who bounds a resource, and by what; an empty text if nothing does."""
    name = f"resources_max.{resource}"
    return (whose, queue[name]) if name in queue else ("the server", server.get(name, ""))


def _seconds(text: str) -> float:
    try:
        return float(parse_duration_s(text))
    except UnitError:
        return 0.0 if text is None else float("inf")


def _is_named(user: str, acl: str) -> bool:
    """Whether a list of users allows this one: its first entry that names the user decides, and a lone ``+`` or ``-``
    decides for users whom none names."""
    others = False
    for entry in map(str.strip, acl.split(",")):
        sign = entry[:1] if entry[:1] in ("+", "-") else "+"
        name = entry.lstrip("+-").partition("@")[0]
        if not name:
            others = sign == "+" and bool(entry)
        elif name in (user, "*"):
            return sign == "+"
    return others


def _is_execution(texts: Attributes) -> bool:
    return texts.get("queue_type", "Execution")[:1] in "Ee"


def _takes_jobs(texts: Attributes) -> bool:
    return _is_execution(texts) and texts.get("enabled") == "True" and texts.get("started") == "True"


def with_job(cluster: ClusterView, proposed: ProposedJob) -> ServerStatus:
    """The server status with the job in it, queued now."""
    status = cluster.server_status
    group = next(
        (
            texts["egroup"]
            for texts in status.jobs.values()
            if texts.get("euser") == proposed.user and "egroup" in texts
        ),
        "",
    )
    now = str(int(cluster.now_s))
    texts = {
        "Job_Name": "not submitted",
        "Job_Owner": f"{proposed.user}@{cluster.server_name or 'localhost'}",
        "euser": proposed.user,
        "egroup": group,
        "job_state": "Q",
        "queue": proposed.queue,
        "ctime": now,
        "qtime": now,
        "etime": now,
        "Priority": "0",
        "Rerunable": "True",
        "Hold_Types": "n",
        "Checkpoint": "u",
        "Resource_List.ncpus": str(parse_request(proposed.resources["select"]).cores),
        **{f"Resource_List.{name}": text for name, text in proposed.resources.items()},
    }
    return replace(status, jobs={**status.jobs, NEW_JOB: {name: text for name, text in texts.items() if text}})
