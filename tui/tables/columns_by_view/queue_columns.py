"""The columns of the queues view and of the overview's queue lines: running and waiting jobs, and the head's needs."""

from __future__ import annotations

from policy.model.pbs_units import show_job
from tui.model.typed_attributes import amount, user_of
from tui.state.cluster_view import ClusterView
from tui.tables.columns import Column
from tui.tables.columns_by_view.planned_job_outcome import head_of, reserved_at
from tui.text.screen_line import Line, safe
from tui.text.times_and_durations import clock_time, short_span


def queue_columns(cluster: ClusterView) -> list[Column[str]]:
    """The columns over the queue names of this cluster view."""
    queues = cluster.server_status.queues
    counts = cluster.counts

    def flag(name: str, attribute: str) -> bool:
        return queues[name].get(attribute, "True").lower() == "true"

    def switched(name: str) -> str:
        on, open_ = flag(name, "started"), flag(name, "enabled")
        return ("yes" if open_ else "closed") if on else "stopped"

    def show_switched(name: str) -> Line:
        words = switched(name)
        return ((words, "" if words == "yes" else "warn"),)

    def jobs(name: str, states: str) -> int:
        counted = counts.queue_states.get(name)
        return sum(counted[state] for state in states) if counted else 0

    def count_column(field: str, title: str, states: str) -> Column[str]:
        return Column(
            field, title, 6, lambda name: jobs(name, states), lambda name: ((f"{jobs(name, states):,}", ""),), ">"
        )

    def mode(name: str) -> str:
        return cluster.modes.get(name, "")

    def cores(name: str) -> int:
        return sum(use.cores for (queue, _), use in counts.users.items() if queue == name)

    return [
        Column("queue", "queue", 8, lambda name: name, lambda name: ((safe(name), ""),), most=32, names=True),
        Column("on", "on", 7, switched, show_switched),
        Column("mode", "mode", 8, mode, lambda name: ((safe(mode(name)) or "-", ""),), rank=2),
        count_column("running", "R", "RESU"),
        count_column("waiting", "Q", "QWT"),
        count_column("held", "H", "H"),
        Column("used", "used", 7, cores, lambda name: ((f"{cores(name):,}", ""),), ">", 3),
        Column(
            "head", "head of the queue", 0, lambda name: head_of(cluster, name), lambda name: head_line(cluster, name)
        ),
        Column(
            "reserved",
            "start reserved at",
            17,
            lambda name: reserved_at(cluster, name),
            lambda name: ((show_reserved(reserved_at(cluster, name), cluster.now_s), ""),),
            rank=1,
            most=22,
            filter_value=lambda name: None if (at_s := reserved_at(cluster, name)) is None else at_s - cluster.now_s,
        ),
    ]


def show_reserved(at_s: float | None, now_s: float) -> str:
    """``15:10, in 1 h 08``; empty if nothing is reserved."""
    return "" if at_s is None else f"{clock_time(at_s)}, in {short_span(at_s - now_s)}"


def head_line(cluster: ClusterView, queue: str) -> Line:
    """``981223 alice 2,048c: 1,536 idle``: the queue's head, its cores, and how many are idle where it may run."""
    head = head_of(cluster, queue)
    if head is None or cluster.decision is None:
        return (("deciding" if cluster.decision is None else "-", "dim"),)
    attributes = cluster.server_status.jobs[head]
    cores = amount(attributes, f"Resource_List.{cluster.counted}")
    reason = cluster.decision.reasons.get(head)
    # From the head's reason: only cores on vnodes where the head may run count as idle.
    idle = dict(reason.numbers).get("idle") if reason is not None else None
    return (
        (safe(show_job(head)), "bold"),
        (f" {safe(user_of(attributes))} {cores:,}c" + (f": {idle:,} idle" if isinstance(idle, int) else ""), ""),
    )
