"""The columns of the reservations view: owner, times, vnodes and jobs of each of PBS's reservations."""

from __future__ import annotations

from collections.abc import Callable

from tui.model.typed_attributes import Attributes, amount, moment, vnodes_of
from tui.state.cluster_view import ClusterView
from tui.tables.columns import Column
from tui.text.name_ranges import folded_names
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import day_and_time, short_span

_STATES = {
    "0": "none", "1": "unconfirmed", "2": "confirmed", "3": "waiting", "4": "due", "5": "running", "6": "finished",
    "7": "being deleted", "8": "deleted", "9": "deleting its jobs", "10": "degraded", "11": "being altered",
    "12": "in conflict",
}  # fmt: skip
"""PBS's numbers for the states of a reservation (``RESV_*`` in its ``pbs_ifl.h``)."""
_DEGRADED = "10"
DEGRADED = _STATES[_DEGRADED]
_TROUBLE = ("unconfirmed", DEGRADED, "in conflict")


def state_of(texts: Attributes) -> str:
    """A reservation's state in words; a number that is not known stays as it is. Of one that runs and has lost vnodes
    PBS says so in the substate alone, and ``pbs_rstat`` not at all."""
    state = texts.get("reserve_state", "")
    words = _STATES.get(state, state or "?")
    lost = texts.get("reserve_substate", "") == _DEGRADED and state != _DEGRADED
    return f"{words}, {DEGRADED}" if lost else words


def reservation_columns(cluster: ClusterView) -> list[Column[str]]:
    """The columns over the reservations' names."""
    reservations = cluster.server_status.reservations

    def state(name: str) -> str:
        return state_of(reservations[name])

    def show_state(name: str) -> Line:
        words = state(name)
        return ((safe(words), "warn" if words.endswith(_TROUBLE) else "good" if words == "running" else ""),)

    def owner(name: str) -> str:
        return reservations[name].get("Reserve_Owner", "").partition("@")[0]

    def queue(name: str) -> str:
        return reservations[name].get("queue", "")

    def cores(name: str) -> int:
        return amount(reservations[name], "Resource_List.ncpus")

    def jobs(name: str, states: str) -> int:
        counted = cluster.counts.queue_states.get(queue(name))
        return sum(counted[each] for each in states) if counted else 0

    def time_of(attribute: str) -> Callable[[str], float | None]:
        return lambda name: moment(reservations[name], attribute)

    def show_time(attribute: str) -> Callable[[str], Line]:
        def show(name: str) -> Line:
            at_s = moment(reservations[name], attribute)
            if at_s is None:
                return (("-", "dim"),)
            ahead = f", in {short_span(at_s - cluster.now_s)}" if at_s > cluster.now_s else ""
            return ((f"{day_and_time(at_s, cluster.now_s)}{ahead}", ""),)

        return show

    def until(attribute: str) -> Callable[[str], float | None]:
        return lambda name: None if (at_s := moment(reservations[name], attribute)) is None else at_s - cluster.now_s

    def repeats(name: str) -> str:
        texts = reservations[name]
        if texts.get("reserve_standing", "").lower() not in ("1", "true"):
            return ""
        return f"{texts.get('reserve_index', '?')} of {texts.get('reserve_count', '?')}"

    def where(name: str) -> str:
        return folded_names(vnodes_of(reservations[name].get("resv_nodes", "")), 4)

    def text(of: Callable[[str], str]) -> Callable[[str], Line]:
        return lambda name: ((safe(of(name)), ""),)

    return [
        Column("reservation", "reservation", 11, lambda name: name, text(lambda name: name), most=32, names=True),
        Column("state", "state", 11, state, show_state, most=18),
        Column("owner", "owner", 7, owner, text(owner), most=32, names=True),
        Column("queue", "queue", 7, queue, text(queue), rank=4, most=24),
        Column(
            "start",
            "start",
            16,
            time_of("reserve_start"),
            show_time("reserve_start"),
            most=34,
            filter_value=until("reserve_start"),
        ),
        Column(
            "end",
            "end",
            16,
            time_of("reserve_end"),
            show_time("reserve_end"),
            rank=1,
            most=34,
            filter_value=until("reserve_end"),
        ),
        Column("repeats", "repeats", 7, repeats, text(repeats), rank=5),
        Column("cores", cluster.counted, 6, cores, lambda name: ((f"{cores(name):,}", ""),), ">"),
        Column("running", "R", 4, lambda n: jobs(n, "RESU"), lambda n: ((f"{jobs(n, 'RESU'):,}", ""),), ">", 2),
        Column("waiting", "Q", 4, lambda n: jobs(n, "QWT"), lambda n: ((f"{jobs(n, 'QWT'):,}", ""),), ">", 3),
        Column("vnodes", "vnodes", 0, where, text(where)),
    ]
