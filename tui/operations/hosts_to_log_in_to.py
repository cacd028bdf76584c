"""The hosts on which an administrator may want a shell: those of vnodes, and those that a job runs on.

Names come from the server and become an argument of a program, so only names of hosts are taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hooks.pbs.job_attributes.job_ids_and_states import is_array
from policy.model.pbs_units import show_job
from tui.backends.interface.commands_interface import ChangeError
from tui.model.typed_attributes import vnodes_of
from tui.state.cluster_view import ClusterView

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def hosts_of(cluster: ClusterView, kind: str, names: Sequence[str]) -> tuple[str, ...]:
    """The hosts of these vnodes, or of the vnodes that these jobs run on, each once. Raises :class:`ChangeError` if
    there is none."""
    vnodes: list[str] = []
    for name in names:
        if kind == "vnode":
            vnodes.append(name)
        else:
            jobs = [name, *cluster.subjob_ids.get(name, ())] if is_array(name) else [name]
            vnodes += [vnode for job in jobs for vnode in vnodes_of((cluster.job(job) or {}).get("exec_vnode", ""))]
    if not vnodes:
        raise ChangeError(f"ssh: {show_job(names[0])} does not run" if names else "ssh: which vnode or job?")
    found = dict.fromkeys(_host_of(cluster, vnode) for vnode in vnodes)
    hosts = tuple(host for host in found if _HOST.fullmatch(host))
    if not hosts:
        raise ChangeError(f"ssh: {next(iter(found))!r} is no name of a host")
    return hosts


def _host_of(cluster: ClusterView, vnode: str) -> str:
    """The vnode's host; the vnode's name where PBS does not show it."""
    texts = cluster.server_status.vnodes.get(vnode, {})
    return texts.get("resources_available.host", "") or vnode.partition("[")[0]
