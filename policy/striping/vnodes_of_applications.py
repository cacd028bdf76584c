"""The vnodes on which runs of each application are, in one pass (docs/policies.md, P5).

All runs are looked at once; a start is added, and after a cancelled one its application alone is looked at again.
"""

from __future__ import annotations

from policy.model.allocation import Allocation, Directory
from policy.state.cluster_index import ClusterIndex


def touched(allocation: Allocation, directory: Directory) -> int:
    """The vnodes of an allocation."""
    mask = 0
    for share in allocation.shares(directory):
        mask |= share.mask
    return mask


class VnodesOfApplications:
    """Sets of vnodes by application. Each start of the pass must be reported to it."""

    __slots__ = ("_cluster", "_known")

    def __init__(self, cluster: ClusterIndex) -> None:
        self._cluster = cluster
        self._known: dict[str, int | None] | None = None

    def of(self, application: str) -> int:
        """The vnodes with runs of the application."""
        directory = self._cluster.capacity.directory
        if self._known is None:
            self._known = {}
            for run in self._cluster.runs.values():
                if run.job.application:
                    self.note(run.job.application, run.allocation)
        vnodes = self._known.get(application, 0)
        if vnodes is None:
            vnodes = 0
            for run in self._cluster.runs.values():
                if run.job.application == application:
                    vnodes |= touched(run.allocation, directory)
            self._known[application] = vnodes
        return vnodes

    def note(self, application: str, allocation: Allocation) -> None:
        """Note a start of the application."""
        known = self._known
        vnodes = 0 if known is None else known.get(application, 0)
        if known is not None and vnodes is not None:
            known[application] = vnodes | touched(allocation, self._cluster.capacity.directory)

    def forget(self, application: str) -> None:
        """Note that a start of the application is cancelled."""
        if self._known is not None:
            self._known[application] = None
