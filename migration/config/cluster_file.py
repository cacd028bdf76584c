"""The content of ``cluster.toml``: this cluster, the others in the order in which it asks them, and the limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from policy.migration.job_record_and_copy_updates import ANY
from policy.migration.wait_and_retry_bounds import WaitSettings

if TYPE_CHECKING:
    from policy.migration.place_on_first_free_cluster import PlacingSettings

SCHEDULERS = ("pbs", "slurm")
BUILD_ON = ("here", "job")
SENDING_IS_PAUSED = "sending there is paused (pause_sending_to)"
"""The reason for requests that are kept from a cluster of ``pause_sending_to``."""
TAKING_IS_PAUSED = "its jobs are not taken (pause_taking_from)"
PUBLISHED_KEY = re.compile(r"(?:ssh-ed25519|ecdsa-sha2-nistp(?:256|384|521)|ssh-rsa) [A-Za-z0-9+/]{40,1000}={0,2}")


class ClusterFileError(ValueError):
    """A cluster file that cannot be used; ``problems`` has one line for each problem."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class Limits:
    """The bounds of a pass, of transfers, of waiting and of builds; seconds, KiB a second, days.

    ``build_cpu_s``, ``build_files``, ``build_file_mib`` and ``build_memory_mib`` hold for each process of a build,
    ``build_processes`` for all of its user; 0 sets no bound.
    """

    max_per_pass: int = 64
    max_in_flight_per_target: int = 32
    max_uploads: int = 4
    max_downloads: int = 4
    bwlimit_kib: int = 0
    ssh_timeout_s: int = 10
    upload_timeout_s: int = 14_400
    build_timeout_s: int = 3_600
    fallback_s: int = 3_600
    max_remote_wait_s: int = 3_600
    keep_target_days: int = 7
    keep_aborted_days: int = 30
    keep_done_days: int = 90
    max_requests_per_user: int = 1_000
    max_ended_per_user: int = 2_000
    max_transfers_per_user: int = 3
    build_cpu_s: int = 3_600
    build_files: int = 4_096
    build_processes: int = 2_000
    build_file_mib: int = 10_240
    build_memory_mib: int = 8_192
    max_connections: int = 64
    max_connections_per_cluster: int = 32
    max_connections_per_user: int = 16

    @property
    def waiting(self) -> WaitSettings:
        """The bounds of waiting at a target."""
        return WaitSettings(self.max_remote_wait_s, self.upload_timeout_s)


@dataclass(frozen=True)
class Cluster:
    """One ``[[cluster]]`` table: how it is reached and the key with which it comes, its scheduler, the queue in which
    guests land, and their folder. The same tables may stand in the files of all clusters, in the order of each.

    ``send`` is whether this cluster sends jobs there. ``bwlimit_kib`` bounds one transfer; 0 is what the limits say.
    """

    name: str
    ssh: str
    scheduler: str = ""
    queue: str = "global"
    landing: str = ""
    arch: str = ""
    modules: tuple[str, ...] = ()
    key: str = ""
    send: bool = True
    bwlimit_kib: int = 0


@dataclass(frozen=True)
class Here:
    """What holds at this cluster alone: ``[here]``.

    ``users`` maps, for each source, its users to accounts here; a source without a map uses the same names, and a user
    mapped to "" has no account. ``allowed_roots`` are the folders below which jobs' folders may be, ``share_roots``
    those below which linked files are shared input. ``build_on`` is where build commands run: on the management node,
    or as a local job. ``queue`` is the queue or partition of this cluster's own users; empty, it is that of guests. No
    job runs as a member of ``refused_groups``.

    No job runs as one of ``refused_accounts`` either, nor, with ``refuse_without_login``, as an account whose shell is
    ``nologin`` or ``false``.

    ``pause_sending_to`` and ``pause_taking_from`` are clusters with which no job is handed over in that direction for
    the moment; ``any`` is all of them. Jobs under way go on.
    """

    queue: str = ""
    pause_sending_to: tuple[str, ...] = ()
    pause_taking_from: tuple[str, ...] = ()
    min_uid: int = 1000
    allowed_roots: tuple[str, ...] = ("/home",)
    share_roots: tuple[str, ...] = ()
    default_walltime_s: int = 0
    build_on: str = "here"
    users: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    refused_groups: tuple[str, ...] = (
        "root", "sudo", "wheel", "adm", "admin", "docker", "lxd", "incus", "libvirt", "disk", "shadow", "kmem", "staff",
    )  # fmt: skip
    refused_accounts: tuple[str, ...] = (
        "nobody", "nfsnobody", "daemon", "mg", "pbsdata", "pbsadmin", "munge", "slurm", "lsfadmin", "postgres", "mysql",
        "mariadb", "mongodb", "redis", "ldap", "sssd", "sshd", "ceph", "www-data", "apache", "nginx", "backup",
    )  # fmt: skip
    refuse_without_login: bool = True

    def sends_to(self, cluster: str) -> bool:
        """Whether jobs may be handed to the cluster now."""
        return not {ANY, cluster} & {*self.pause_sending_to}

    def takes_from(self, cluster: str) -> bool:
        """Whether jobs of the cluster may be taken now."""
        return not {ANY, cluster} & {*self.pause_taking_from}

    def account(self, source: str, user: str) -> str:
        """The account here of a source's user; "" if there is none."""
        named = self.users.get(source)
        return user if named is None else named.get(user, "")


@dataclass(frozen=True)
class ClusterFile:
    """The whole file. ``others`` is in the order in which this cluster asks: by performance and size."""

    this: Cluster
    others: tuple[Cluster, ...]
    here: Here = field(default_factory=Here)
    limits: Limits = field(default_factory=Limits)

    def other(self, name: str) -> Cluster | None:
        """The other cluster of this name, if the file has it."""
        return next((other for other in self.others if other.name == name), None)

    @property
    def at_home(self) -> Cluster:
        """This cluster with the queue of its own users instead of that of guests."""
        return replace(self.this, queue=self.here.queue or self.this.queue)

    @property
    def placing(self) -> PlacingSettings:
        """The settings of placing."""
        from policy.migration.place_on_first_free_cluster import PlacingSettings  # noqa: PLC0415 - only a pass places

        limits = self.limits
        order = tuple(other.name for other in self.others if other.send)
        return PlacingSettings(
            self.this.name, order, limits.max_per_pass, limits.max_in_flight_per_target, limits.fallback_s
        )
