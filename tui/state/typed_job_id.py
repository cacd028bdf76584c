"""The job that a typed id means, with or without the server's name, and the id as it is shown to be typed.

A server may have jobs of other servers, and two of one number. An id without a name means this server's job first;
where that does not settle it, the whole id has to be typed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from policy.model.pbs_units import show_job
from tui.config.match_server_names import is_same


class AmbiguousJobError(ValueError):
    """An id that several jobs share; the message names them."""


def find_jobs(jobs: Collection[str], typed: Iterable[str], server: str) -> dict[str, str]:
    """The ids of the jobs that are meant, by what was typed; what is not in it means none of ``jobs``. Raises
    :class:`AmbiguousJobError`."""
    wanted = set(typed)
    found = {name: name for name in wanted if name in jobs}
    candidates: dict[str, list[str]] = {}
    if len(found) < len(wanted):
        for job in jobs:
            short = show_job(job)
            if short in wanted and short not in found:
                candidates.setdefault(short, []).append(job)
    return {**found, **{short: _choose(short, alike, server) for short, alike in candidates.items()}}


def find_job(jobs: Collection[str], typed: str, server: str) -> str | None:
    """The id of the job that is meant; None if there is none. Raises :class:`AmbiguousJobError`."""
    return find_jobs(jobs, [typed], server).get(typed)


def id_to_type(job: str, server: str) -> str:
    """The id without the server's name, as everywhere; the whole one of another server's job."""
    return show_job(job) if is_own(job, server) else job


def is_own(job: str, server: str) -> bool:
    """Whether the job was submitted to this server, by its id."""
    return is_same(job.partition(".")[2] or server, server)


def _choose(typed: str, alike: list[str], server: str) -> str:
    own = [job for job in alike if is_own(job, server)] if len(alike) > 1 else alike
    if len(own) != 1:
        raise AmbiguousJobError(f"job {typed!r} may be {' or '.join(sorted(alike))}: type the whole id")
    return own[0]
