"""The slots that a job holds, as PBS's ``exec_vnode``, and the slots of one node by job."""

from __future__ import annotations

from hooks.pbs.files_and_output.slots_of_exec_host import count_slots, slots_of_exec_host
from hooks.pbs.server_status_type_and_attributes import Attributes


def read_exec_vnode(exec_host: str, exec_gpus: str = "") -> str:
    """``trq1/0-1+trq2/3`` as ``(trq1:ncpus=2)+(trq2:ncpus=1)``; empty if nothing of it can be read."""
    gpus: dict[str, int] = {}
    for part in filter(None, exec_gpus.split("+")):
        # host-gpu/0, one for each of a host's.
        host = part.partition("/")[0].removesuffix("-gpu")
        gpus[host] = gpus.get(host, 0) + 1
    return "+".join(
        f"({host}:ncpus={count}{f':ngpus={gpus[host]}' if host in gpus else ''})"
        for host, count in slots_of_exec_host(exec_host).items()
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
