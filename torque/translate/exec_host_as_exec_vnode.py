"""The slots that a job holds, as PBS's ``exec_vnode``, and the slots of one node by job.

Torque 5 and later write ranges of slots (``trq1/0-1+trq2/3,5-6``), earlier ones each slot (``trq1/1+trq1/0``). The
numbers of the slots have no meaning of their own: only how many of each node a job holds is read.
"""

from __future__ import annotations

from hooks.pbs.server_status_type_and_attributes import Attributes


def read_exec_vnode(exec_host: str, exec_gpus: str = "") -> str:
    """``trq1/0-1+trq2/3`` as ``(trq1:ncpus=2)+(trq2:ncpus=1)``; empty if nothing of it can be read."""
    slots: dict[str, int] = {}
    for part in filter(None, exec_host.split("+")):
        host, _, indices = part.partition("/")
        slots[host] = slots.get(host, 0) + count_slots(indices)
    gpus: dict[str, int] = {}
    for part in filter(None, exec_gpus.split("+")):
        # host-gpu/0, one for each of a host's.
        host = part.partition("/")[0].removesuffix("-gpu")
        gpus[host] = gpus.get(host, 0) + 1
    return "+".join(
        f"({host}:ncpus={count}{f':ngpus={gpus[host]}' if host in gpus else ''})"
        for host, count in slots.items()
        if host and count
    )


def read_jobs_of_node(text: str) -> dict[str, int]:
    """The slots of a node by job: ``0-1/84.trq0,2/85.trq0`` is ``{"84.trq0": 2, "85.trq0": 1}``. The numbers of one
    job may be a list with commas of its own (``0,2-3/84.trq0``)."""
    found: dict[str, int] = {}
    waiting = 0
    for part in filter(None, (each.strip() for each in text.split(","))):
        indices, slash, job_id = part.partition("/")
        waiting += count_slots(indices)
        if slash and job_id:
            found[job_id] = found.get(job_id, 0) + waiting
            waiting = 0
    return found


def count_slots(text: str) -> int:
    """How many slots ``0-1``, ``4`` or ``0,2-3`` are; those parts that cannot be read count as none."""
    count = 0
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = (first, last) if dash else (first, first)
        if all(end.isascii() and end.isdigit() and len(end) <= 7 for end in ends):
            count += max(0, int(ends[1]) - int(ends[0]) + 1)
    return count


def node_list_for_qrun(exec_vnode: str) -> str:
    """``(trq1:ncpus=2)+(trq2:ncpus=1)`` as the node list ``trq1:ppn=2+trq2:ppn=1``, each host once: a host that is
    named twice, or without ``ppn``, would get fewer slots."""
    slots: dict[str, int] = {}
    for part in exec_vnode.replace("(", "").replace(")", "").split("+"):
        host, *amounts = part.split(":")
        cores = dict(each.partition("=")[::2] for each in amounts).get("ncpus", "0")
        slots[host] = slots.get(host, 0) + (int(cores) if cores.isdigit() else 0)
    return "+".join(f"{host}:ppn={count}" for host, count in slots.items() if host and count)


def holds_slots(texts: Attributes) -> bool:
    """Whether a job holds the slots of its ``exec_host``: Torque keeps that text on a job that was requeued, and on a
    suspended one, whose slots are free."""
    return texts.get("job_state", "") in ("R", "E")
