"""The text of slurm.conf, the same on all hosts of a testbed. Pure: specification in, text out.

Two partitions share the nodes: ``workq`` for the cluster's own jobs, and ``global``, whose jobs are requeued when one
of ``workq`` needs their cores.
"""

from __future__ import annotations

from pathlib import Path

from container.testbed_spec import MEM_PER_CORE_GIB, TestbedSpec

CONF = Path("/etc/slurm/slurm.conf")
CLUSTER = "testbed"
STATE = "slurm"
"""A host's folder of state, below its folder in the testbed's."""
GUESTS = "global"
"""The partition whose jobs run on idle cores only."""


def write_slurm_conf(spec: TestbedSpec, folder: Path) -> str:
    """The text of slurm.conf for the testbed in ``folder``, where each host has FOLDER/HOST/slurm to itself."""
    home, own = folder / spec.server.name / STATE, folder / "%h" / STATE
    lines = {
        "ClusterName": CLUSTER,
        "SlurmctldHost": f"{spec.server.name}({spec.server.address})",
        "SlurmUser": "root",
        "AuthType": "auth/munge",
        "StateSaveLocation": home / "state",
        "SlurmdSpoolDir": own / "spool",
        "SlurmctldPidFile": "/run/slurmctld.pid",
        "SlurmdPidFile": "/run/slurmd.pid",
        "SlurmctldLogFile": home / "slurmctld.log",
        "SlurmdLogFile": own / "slurmd.log",
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "AccountingStorageType": "accounting_storage/none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU_Memory",
        "SlurmdParameters": "config_overrides",
        "DefMemPerCPU": 64,
        "MinJobAge": 86400,
        "MpiDefault": "none",
        "ReturnToService": 2,
        "KillWait": 5,
        "PreemptType": "preempt/partition_prio",
        "PreemptMode": "REQUEUE",
        "SchedulerParameters": "bf_interval=5,sched_interval=5,batch_sched_delay=0",
    }
    memory_mib = spec.cores * MEM_PER_CORE_GIB * 1024
    nodes = [
        f"NodeName={node.name} NodeAddr={node.address} CPUs={spec.cores} RealMemory={memory_mib} State=UNKNOWN\n"
        for node in spec.mom_hosts
    ]
    partitions = [
        "PartitionName=workq Nodes=ALL Default=YES PriorityTier=10 PreemptMode=OFF State=UP\n",
        f"PartitionName={GUESTS} Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE State=UP\n",
    ]
    return "".join([*(f"{key}={value}\n" for key, value in lines.items()), *nodes, *partitions])
