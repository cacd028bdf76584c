"""The texts that make a host a Torque host: the files of its home and the server's settings.

Pure: specification in, text out. A home is at the path that is built into Torque's programs; every host has a folder of
its own there.
"""

from __future__ import annotations

from container.testbed_spec import TestbedSpec

HOME = "torque"
"""A host's home of Torque, below its own /var/spool."""
QUEUE = "batch"

HOME_FOLDERS: tuple[tuple[str, int], ...] = (
    ("", 0o755),
    ("aux", 0o755),
    ("checkpoint", 0o1777),
    ("client_logs", 0o755),
    ("job_logs", 0o755),
    ("mom_logs", 0o755),
    ("mom_priv", 0o751),
    ("mom_priv/jobs", 0o751),
    ("sched_logs", 0o755),
    ("sched_priv", 0o750),
    ("sched_priv/accounting", 0o755),
    ("server_logs", 0o755),
    ("server_priv", 0o750),
    ("server_priv/accounting", 0o755),
    *((f"server_priv/{name}", 0o750) for name in ("acl_groups", "acl_hosts", "acl_svr", "acl_users", "arrays")),
    *((f"server_priv/{name}", 0o750) for name in ("credentials", "disallowed_types", "hostlist", "jobs", "queues")),
    ("spool", 0o1777),
    ("undelivered", 0o1777),
)
"""The home's folders and modes, as Torque's own installation makes them."""

ENVIRONMENT = "PATH=/bin:/usr/bin\nLANG=C.UTF-8\n"
SCHEDULER_CONFIG = "round_robin: False all\nby_queue: True prime\nstrict_fifo: false ALL\nfair_share: false ALL\n"
"""Torque's own scheduler starts jobs first come, first served, and lets later ones pass those that do not fit."""


def write_mom_config(spec: TestbedSpec) -> str:
    """The MoM's settings: its server, and that all hosts see the same files, so that no output is sent by scp."""
    return f"$pbsserver {spec.server.name}\n$usecp *:/ /\n"


def write_server_settings(spec: TestbedSpec) -> str:
    """The qmgr commands that configure a fresh server. A job that has ended is shown for five minutes."""
    lines = [
        f"create queue {QUEUE} queue_type = Execution",
        f"set queue {QUEUE} resources_default.walltime = 01:00:00",
        f"set queue {QUEUE} enabled = True",
        f"set queue {QUEUE} started = True",
        f"set server default_queue = {QUEUE}",
        f"set server managers = root@{spec.server.name}",
        f"set server operators = root@{spec.server.name}",
        "set server keep_completed = 300",
        "set server query_other_jobs = True",
        "set server allow_node_submit = True",
        "set server mom_job_sync = True",
        *(f"create node {mom.name} np={spec.cores}" for mom in spec.mom_hosts),
        "set server scheduling = True",
    ]
    return "".join(f"{line}\n" for line in lines)
