"""The columns of the vnodes view: state in words, cores and their bar, memory, GPUs, temperature and jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hooks.pbs.custom_resources import READING
from hooks.pbs.job_ids_and_states import parent_of
from hooks.telemetry.host_reading_format import HostReading, parse_reading
from policy.model.pbs_units import show_job
from tui.model.typed_attributes import Attributes, amount, group_of, is_draining, moment, user_of, vnode_state
from tui.state.cluster_view import ClusterView
from tui.tables.columns import Column
from tui.tables.filter_line import Value
from tui.text.screen_line import Line, safe
from tui.text.text_bars import share_bar
from tui.text.times_and_durations import day_and_time

_GIB = 1 << 20
_BAR_CELLS = 10


def vnode_columns(cluster: ClusterView) -> list[Column[str]]:
    """The columns over the vnode names of this cluster view."""
    vnodes = cluster.server_status.vnodes
    counted = cluster.counted

    def used(name: str) -> int:
        return amount(vnodes[name], f"resources_assigned.{counted}")

    def total(name: str) -> int:
        return amount(vnodes[name], f"resources_available.{counted}")

    def free(name: str) -> int:
        return total(name) - used(name) if vnode_state(vnodes[name]).up else 0

    def state(name: str) -> str:
        words = vnode_state(vnodes[name]).words
        return f"{words}, draining" if is_draining(vnodes[name]) else words

    def show_state(name: str) -> Line:
        found = vnode_state(vnodes[name])
        role = "bad" if not found.up else "warn" if found.letter else ""
        words = "draining" if is_draining(vnodes[name]) else safe(found.words)
        return ((f"{found.letter or ' '} {words}", role),)

    def memory(name: str) -> Line:
        has = amount(vnodes[name], "resources_available.mem")
        left = has - amount(vnodes[name], "resources_assigned.mem")
        return ((f"{left / _GIB:,.0f} of {has / _GIB:,.0f} GB" if has else "-", ""),)

    def gpus_free(name: str) -> int:
        return amount(vnodes[name], "resources_available.ngpus") - amount(vnodes[name], "resources_assigned.ngpus")

    def gpus(name: str) -> Line:
        has = amount(vnodes[name], "resources_available.ngpus")
        return ((f"{gpus_free(name)} of {has}" if has else "-", ""),)

    def heat(name: str) -> float | None:
        reading = reading_of(vnodes[name])
        return None if reading is None or reading.heat is None else reading.heat.now

    def show_heat(name: str) -> Line:
        degrees = heat(name)
        return ((f"{degrees:.0f}°" if degrees is not None else "-", "" if degrees is not None else "dim"),)

    def since(name: str) -> float | None:
        return None if vnode_state(vnodes[name]).up else moment(vnodes[name], "last_state_change_time")

    def show_since(name: str) -> Line:
        since_s = since(name)
        return ((day_and_time(since_s, cluster.now_s) if since_s is not None else "", "warn"),)

    def jobs(name: str) -> str:
        return " ".join(jobs_on(cluster, name))

    return [
        Column("vnode", "vnode", 12, lambda name: name, lambda name: ((safe(name), ""),), most=48, names=True),
        Column("state", "state", 16, state, show_state, most=28),
        Column("used", "used", 5, used, lambda name: ((f"{used(name):,}", ""),), ">"),
        Column("cores", "of", 5, total, lambda name: ((f"{total(name):,}", ""),), ">"),
        Column(
            "fill",
            "",
            _BAR_CELLS,
            free,
            lambda name: share_bar(used(name), total(name), _BAR_CELLS),
            rank=1,
            drawn=True,
        ),
        Column("free", "free", 5, free, lambda name: ((f"{free(name):,}", ""),), ">", 4),
        Column(
            "mem",
            "memory free",
            14,
            lambda name: (
                amount(vnodes[name], "resources_available.mem") - amount(vnodes[name], "resources_assigned.mem")
            ),
            memory,
            ">",
            2,
        ),
        Column("gpus", "gpus free", 9, gpus_free, gpus, ">", 3),
        Column("temp", "temp", 5, heat, show_heat, ">", 5),
        Column("since", "not up since", 16, since, show_since, rank=6),
        Column("jobs", "jobs", 0, jobs, lambda name: ((safe(jobs(name)), "dim"),)),
    ]


def vnode_fields_also(cluster: ClusterView) -> dict[str, Callable[[str], Value]]:
    """Filter fields for the jobs on a vnode: ids (for a subjob also its array's), users, groups, projects, queues."""

    def of_jobs(text_of: Callable[[str], Sequence[str]]) -> Callable[[str], Value]:
        return lambda name: tuple(dict.fromkeys(text for job_id in ids_on(cluster, name) for text in text_of(job_id)))

    def attributes_of(job_id: str) -> Attributes:
        return cluster.server_status.jobs.get(job_id, {})

    return {
        "job": of_jobs(lambda job_id: (show_job(job_id), show_job(parent_of(job_id)))),
        "user": of_jobs(lambda job_id: (user_of(attributes_of(job_id)),)),
        "group": of_jobs(lambda job_id: (group_of(attributes_of(job_id)),)),
        "project": of_jobs(lambda job_id: (attributes_of(job_id).get("project", ""),)),
        "queue": of_jobs(lambda job_id: (attributes_of(job_id).get("queue", ""),)),
    }


def reading_of(vnode: Attributes) -> HostReading | None:
    """The last reading that the vnode's host reported; None if there is none."""
    return parse_reading(vnode.get(f"resources_available.{READING}", ""))


def jobs_on(cluster: ClusterView, vnode: str) -> list[str]:
    """The short ids of the jobs on a vnode, each once, in the server's order."""
    return list(dict.fromkeys(map(show_job, ids_on(cluster, vnode))))


def ids_on(cluster: ClusterView, vnode: str) -> list[str]:
    """The ids of the jobs on a vnode, each once, in the server's order."""
    listed = cluster.server_status.vnodes.get(vnode, {}).get("jobs", "")
    return list(dict.fromkeys(part.strip().partition("/")[0] for part in listed.split(",") if part.strip()))
