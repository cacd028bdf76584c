"""The texts that make a host a PBS host: pbs.conf, hosts, the MoM's files, the server's settings, and PBS_HOME's
layout.

Pure: specification in, text out. Only names and paths checked by `container.testbed_spec` are used, since PBS reads
pbs.conf as shell.
"""

from __future__ import annotations

from container.testbed_spec import MEM_PER_CORE_GIB, Host, TestbedSpec, short_name

HOME_FOLDERS: tuple[tuple[str, int], ...] = (
    ("", 0o755),
    ("spool", 0o1777),
    ("server_priv", 0o750),
    ("server_priv/accounting", 0o755),
    ("server_priv/jobs", 0o750),
    ("server_priv/users", 0o750),
    ("server_priv/hooks", 0o750),
    ("server_priv/hooks/tmp", 0o750),
    ("server_logs", 0o755),
    ("sched_priv", 0o750),
    ("sched_logs", 0o755),
    ("comm_logs", 0o755),
    ("aux", 0o755),
    ("checkpoint", 0o700),
    ("mom_logs", 0o755),
    ("mom_priv", 0o751),
    ("mom_priv/jobs", 0o751),
    ("mom_priv/hooks", 0o750),
    ("mom_priv/hooks/tmp", 0o750),
    ("undelivered", 0o1777),
)
"""PBS_HOME's folders and modes, as PBS's own pbs_postinstall makes them. (That script also registers a service with the
machine's init system, so it is not run.)
"""

HOOK_COPY_TIMEOUT_S = 20
"""After so many seconds the server sends a MoM its hooks again, where the MoM did not answer. PBS's own 120 s are a
long wait for one answer lost among the hosts of one machine.
"""

SCHEDULER_FILES = {
    "pbs_dedicated": "dedicated_time",
    "pbs_holidays": "holidays",
    "pbs_resource_group": "resource_group",
    "pbs_sched_config": "sched_config",
}
"""File in PBS_EXEC/etc -> file in sched_priv."""

CRAY_HOOK = "PBS_xeon_phi_provision"
"""Prefix of the PBS hook that pbs_postinstall leaves out on machines other than Cray's."""

MOM_CONFIG = "$usecp *:/ /\n"
"""All hosts see the same files, so results are copied, never sent by scp."""

ENVIRONMENT = "PATH=/bin:/usr/bin\n"


def write_pbs_conf(spec: TestbedSpec, host: Host, pbs_home: str) -> str:
    """The text of /etc/pbs.conf on ``host``. Daemons are started one by one; the PBS_START_ lines say which belong
    there.
    """
    server = int(host.is_server)
    lines = {
        "PBS_EXEC": spec.pbs_exec,
        "PBS_HOME": pbs_home,
        "PBS_SERVER": spec.server.name,
        "PBS_START_SERVER": server,
        "PBS_START_SCHED": server,
        "PBS_START_COMM": server,
        "PBS_START_MOM": 1 - server,
        "PBS_CORE_LIMIT": 0,
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def write_hosts(spec: TestbedSpec) -> str:
    """The text of /etc/hosts on every host of the testbed."""
    lines = [f"{host.address} {host.name} {short_name(spec, host)}\n" for host in spec.hosts]
    return "127.0.0.1 localhost\n" + "".join(lines)


def write_vnode_definitions(spec: TestbedSpec, mom: Host) -> str:
    """A version 2 MoM configuration (for ``pbs_mom -s insert``): the cores and memory of each of its vnodes."""
    lines = ["$configversion 2\n"]
    for vnode in spec.vnode_names(mom):
        lines.append(f"{vnode}: resources_available.ncpus = {spec.cores}\n")
        lines.append(f"{vnode}: resources_available.mem = {spec.cores * MEM_PER_CORE_GIB}gb\n")
    return "".join(lines)


def write_server_settings(spec: TestbedSpec) -> str:
    """The qmgr commands that configure a fresh server; the queue workq exists on every fresh server."""
    return "".join(
        [
            "set server flatuid = True\n",
            "set server job_history_enable = True\n",
            f"set server sync_mom_hookfiles_timeout = {HOOK_COPY_TIMEOUT_S}\n",
            *(f"create node {mom.name}\n" for mom in spec.mom_hosts),
        ]
    )
