"""The objects of a simulated server: queues, vnodes, schedulers, resources, jobs, and the log."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping

from policy.model.allocation import Allocation, AllocationError, parse_exec_vnode
from policy.model.pbs_units import UnitError
from sim.pbs_server.objects.attributes import BUILT_IN_RESOURCES
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.objects.errors import BAD_VALUE, UNKNOWN_JOB, UNKNOWN_NODE, PbsError
from sim.pbs_server.objects.fresh_install import VERSION, fresh_scheduler, fresh_server
from sim.pbs_server.objects.jobs import SimJob, consumables_of
from sim.pbs_server.objects.vnodes import SimVnode

_LOG_LENGTH = 20_000


class Inventory:
    """The objects of one server, by name. `texts` are the server's own attributes."""

    def __init__(self, name: str, clock: Clock) -> None:
        self.name = name
        self.clock = clock
        self.texts: dict[str, str] = fresh_server(name)
        self.queues: dict[str, dict[str, str]] = {}
        self.vnodes: dict[str, SimVnode] = {}
        self.scheds: dict[str, dict[str, str]] = {"default": fresh_scheduler(name)}
        self.resources: dict[str, tuple[str, str]] = dict(BUILT_IN_RESOURCES)
        self.jobs: dict[str, SimJob] = {}
        self.log: deque[str] = deque(maxlen=_LOG_LENGTH)

    def add_queue(self, name: str, **attributes: str) -> None:
        """Add a queue that is enabled and started; the first one becomes the default queue."""
        self.queues[name] = {"queue_type": "Execution", "enabled": "True", "started": "True", **attributes}
        self.texts.setdefault("default_queue", name)

    def add_vnode(self, name: str, resources: Mapping[str, str], **attributes: str) -> None:
        """Add a vnode with its own MoM; `resources` are its resources_available."""
        shown = {"host": name, "vnode": name, "arch": "linux", **resources}
        texts = {
            "Mom": name, "Port": "15002", "pbs_version": VERSION, "ntype": "PBS", "pcpus": resources["ncpus"],
            **{f"resources_available.{resource}": shown[resource] for resource in sorted(shown)},
            "resv_enable": "True", "sharing": "default_shared", "license": "l", **attributes,
        }  # fmt: skip
        self.vnodes[name] = SimVnode(name, texts, self.clock.now_s)

    @property
    def consumables(self) -> frozenset[str]:
        """The resources that running jobs consume on their vnodes."""
        return consumables_of(self.resources)

    def find_vnode(self, name: str) -> SimVnode:
        """The vnode called `name`; PbsError if there is none."""
        vnode = self.vnodes.get(name)
        if vnode is None:
            raise PbsError(UNKNOWN_NODE)
        return vnode

    def look_up(self, job_id: str) -> tuple[SimJob, int | None]:
        """The job, or the array and the index of one of its subjobs. PbsError if there is none with this id."""
        number, _, rest = job_id.partition(".")
        if "[" in number and not number.endswith("[]"):
            base, _, index = number.partition("[")
            array = self.jobs.get(f"{base}[].{rest or self.name}")
            if array is not None and index[:-1].isdigit() and int(index[:-1]) in array.indices:
                return array, int(index[:-1])
            raise PbsError(UNKNOWN_JOB)
        job = self.jobs.get(f"{number}.{rest or self.name}")
        if job is None:
            raise PbsError(UNKNOWN_JOB)
        return job, None

    def find_job(self, job_id: str) -> SimJob:
        """The job, array or subjob; a subjob must have started."""
        job, index = self.look_up(job_id)
        return job if index is None else job.subjobs[index]

    def read_allocation(self, exec_vnode: str) -> Allocation:
        """The allocation of an `exec_vnode` on existing vnodes; PbsError for any other."""
        try:
            allocation = parse_exec_vnode(exec_vnode)
        except (AllocationError, UnitError) as error:
            raise PbsError(BAD_VALUE) from error
        for name in allocation.vnodes:
            self.find_vnode(name)
        return allocation

    def note(self, job_id: str, words: str) -> None:
        """Write a line about a job into the server's log."""
        when = time.strftime("%m/%d/%Y %H:%M:%S", time.localtime(self.clock.now_s))
        self.log.append(f"{when};0008;Server@{self.name};Job;{job_id};{words}")
