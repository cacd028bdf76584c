"""The columns of the vnodes view: state in words, what is assigned beside what is really used, comment and jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hooks.pbs.custom_resources_on_hosts import READING
from hooks.pbs.job_attributes.job_ids_and_states import parent_of
from hooks.telemetry.host_reading_format import HostReading, parse_reading
from policy.model.pbs_units import show_job
from tui.model.typed_attributes import Attributes, amount, group_of, moment, state_in_words, user_of, vnode_state
from tui.state.cluster_view import ClusterView
from tui.tables.columns import SPARE, Column
from tui.tables.filter_line import SizeKib, Value
from tui.text.screen_line import Line, safe
from tui.text.text_bars import thin_bar
from tui.text.times_and_durations import day_and_time

_GIB = 1 << 20
_BAR_CELLS = 10
_IDLE = 4
"""A vnode whose cores are assigned to so many times what is busy there is marked."""
_ORDER = (
    "vnode", "state", "fill", "used", "cores", "busy", "free", "mem", "memused", "gpus", "temp", "since", "comment",
    "jobs",
)  # fmt: skip
"""The names of all columns, from left to right."""


class _Vnodes:
    """The vnodes of a cluster view by name, and what is assigned on them of what they have."""

    def __init__(self, cluster: ClusterView) -> None:
        self._vnodes = cluster.server_status.vnodes
        self._counted = cluster.counted

    def __getitem__(self, name: str) -> Attributes:
        return self._vnodes[name]

    def used(self, name: str) -> int:
        """How many of its cores are assigned."""
        return amount(self[name], f"resources_assigned.{self._counted}")

    def total(self, name: str) -> int:
        """How many cores it has."""
        return amount(self[name], f"resources_available.{self._counted}")

    def left(self, name: str, resource: str) -> int:
        """How much of a resource is not assigned."""
        return amount(self[name], f"resources_available.{resource}") - amount(
            self[name], f"resources_assigned.{resource}"
        )


def vnode_columns(cluster: ClusterView) -> list[Column[str]]:
    """The columns over the vnode names of this cluster view."""
    vnodes = _Vnodes(cluster)
    groups = (
        _state_columns(cluster, vnodes),
        _core_columns(cluster, vnodes),
        _memory_and_gpu_columns(vnodes),
        _text_columns(cluster, vnodes),
    )
    return sorted((column for group in groups for column in group), key=lambda column: _ORDER.index(column.name))


def _state_columns(cluster: ClusterView, vnodes: _Vnodes) -> list[Column[str]]:
    """The vnode's name, its state, how hot it is, and since when it is not up."""
    some_down = bool(cluster.counts.vnodes.not_up)

    def state(name: str) -> tuple[str, ...]:
        """As it is shown, and as PBS says it: a filter may name either."""
        return state_in_words(vnodes[name], cluster.counted), vnode_state(vnodes[name]).words

    def show_state(name: str) -> Line:
        found = vnode_state(vnodes[name])
        role = "bad" if not found.up else "warn" if found.letter else ""
        here = len(ids_on(cluster, name))
        words = safe(state_in_words(vnodes[name], cluster.counted))
        if here and not found.up:
            # How many jobs: the table says so too, since a job on a vnode that is down is lost.
            words += f", {here:,} {'lost' if found.letter == 'd' else 'left'}"
        return ((f"{found.letter or ' '} {words}", role),)

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

    return [
        Column("vnode", "vnode", 11, lambda name: name, lambda name: ((safe(name), ""),), most=48, names=True),
        Column(
            "state",
            "state",
            17,
            state,
            show_state,
            most=28,
            export_value=lambda name: vnode_state(vnodes[name]).words,
        ),
        Column("temp", "temp", 5, heat, show_heat, ">", 5),
        Column("since", "not up since", 16, since, show_since, rank=4 if some_down else SPARE),
    ]


def _core_columns(cluster: ClusterView, vnodes: _Vnodes) -> list[Column[str]]:
    """The vnode's cores: assigned, idle, and how busy they really are."""
    used, total = vnodes.used, vnodes.total

    def free(name: str) -> int:
        return total(name) - used(name) if vnode_state(vnodes[name]).up else 0

    def busy(name: str) -> int | None:
        """How busy the host's processors really are, in per cent."""
        reading = reading_of(vnodes[name])
        return None if reading is None or reading.idle is None else round(100 * (1 - reading.idle))

    def show_busy(name: str) -> Line:
        found = busy(name)
        wasted = found is not None and used(name) and 100 * used(name) > _IDLE * found * max(1, total(name))
        return _percent(found, "warn" if wasted else "")

    return [
        Column(
            "fill",
            cluster.counted,
            _BAR_CELLS,
            free,
            lambda name: thin_bar(used(name), total(name), _BAR_CELLS),
            rank=1,
            drawn=True,
        ),
        Column("used", "used", 5, used, lambda name: ((f"{used(name):,}", ""),), ">"),
        Column("cores", "of", 5, total, lambda name: ((f"{total(name):,}", ""),), ">"),
        Column("busy", "busy", 4, busy, show_busy, ">", 2),
        Column("free", "free", 5, free, lambda name: ((f"{free(name):,}", ""),), ">", 4),
    ]


def _memory_and_gpu_columns(vnodes: _Vnodes) -> list[Column[str]]:
    """The vnode's memory and GPUs."""

    def memory_left(name: str) -> SizeKib:
        return SizeKib(vnodes.left(name, "mem"))

    def memory(name: str) -> Line:
        has = amount(vnodes[name], "resources_available.mem")
        return ((f"{memory_left(name) / _GIB:,.0f} of {has / _GIB:,.0f} GB" if has else "-", ""),)

    def memory_used(name: str) -> int | None:
        """What its host really has in use, in per cent."""
        reading = reading_of(vnodes[name])
        memory = None if reading is None else reading.memory_mib
        return None if memory is None or not memory.all else round(100 * (1 - memory.left / memory.all))

    def gpus_free(name: str) -> int:
        return vnodes.left(name, "ngpus")

    def gpus(name: str) -> Line:
        has = amount(vnodes[name], "resources_available.ngpus")
        return ((f"{gpus_free(name)} of {has}" if has else "-", ""),)

    return [
        Column("mem", "memory free", 14, memory_left, memory, ">", 2),
        Column("memused", "mem used", 8, memory_used, lambda name: _percent(memory_used(name)), ">", SPARE + 2),
        Column("gpus", "gpus free", 9, gpus_free, gpus, ">", 3),
    ]


def _text_columns(cluster: ClusterView, vnodes: _Vnodes) -> list[Column[str]]:
    """The vnode's comment, and the jobs on it."""
    some_comments = any("comment" in vnode for vnode in cluster.server_status.vnodes.values())

    def comment(name: str) -> str:
        return vnodes[name].get("comment", "")

    def jobs(name: str) -> str:
        return " ".join(jobs_on(cluster, name))

    def dim(of: Callable[[str], str]) -> Callable[[str], Line]:
        return lambda name: ((safe(of(name)), "dim"),)

    return [
        Column("comment", "comment", 20, comment, dim(comment), rank=6 if some_comments else SPARE + 1, most=40),
        Column("jobs", "jobs", 0, jobs, dim(jobs)),
    ]


def _percent(found: int | None, role: str = "") -> Line:
    return (("-", "dim"),) if found is None else ((f"{found}%", role),)


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
