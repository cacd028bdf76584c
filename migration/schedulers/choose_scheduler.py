"""Makes the local scheduler that ``cluster.toml`` names."""

from __future__ import annotations

from migration.config.cluster_file import Cluster
from migration.programs.program_search_path import read_pbs_conf
from migration.programs.run_external_program_with_limits import Run
from migration.schedulers.pbs import PbsScheduler
from migration.schedulers.scheduler_interface import LocalScheduler
from migration.schedulers.slurm import SlurmScheduler

_PBS = {"PBS_HOME": "/var/spool/pbs", "PBS_EXEC": "/opt/pbs"}


def open_scheduler(cluster: Cluster, run: Run) -> LocalScheduler:
    """The scheduler of this cluster. Another kind is a class of its own and a line here."""
    if cluster.scheduler == SlurmScheduler.kind:
        return SlurmScheduler(run, cluster.queue)
    pbs_home, pbs_exec = (read_pbs_conf(name, default) for name, default in _PBS.items())
    return PbsScheduler(run, cluster.queue, pbs_home=pbs_home, pbs_exec=pbs_exec)
