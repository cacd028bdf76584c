"""The specification of a testbed, as pure data: its hosts, their addresses, their vnodes and its users.

Host names and addresses are made from the testbed's name, to keep testbeds apart. All data follows from the
specification alone, so a testbed can be taken down without a record of how it came up.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

ENGINES = ("netns", "podman")
SCHEDULERS = ("pbs", "slurm", "torque")
MAX_MOMS = 200
MAX_CORES = 100_000
MAX_VNODES = 5000
MEM_PER_CORE_GIB = 4
"""Memory of each vnode per core, whatever the machine has, so that jobs fit the same way everywhere."""

_NAME = re.compile(r"(?!m[0-9]+\Z)[a-z][a-z0-9-]{0,30}(?<!-)")
_IMAGE = re.compile(r"[a-z0-9][A-Za-z0-9._:/@-]*")
_SHELL_SAFE_PATH = re.compile(r"/[A-Za-z0-9/._+-]*")


class TestbedError(Exception):
    """The testbed cannot do what was requested; the message says what, why, and what would help."""

    __test__ = False


@dataclass(frozen=True)
class User:
    """A user of the testbed; ``group`` is the user's primary group."""

    name: str
    group: str


USERS = (User("alice", "chem"), User("bob", "bio"), User("carol", "chem"), User("dave", "bio"))


@dataclass(frozen=True)
class Host:
    """One host of a testbed: its name, its IPv4 address, and whether it is the server's or a MoM's."""

    name: str
    address: str
    is_server: bool


@dataclass(frozen=True)
class TestbedSpec:
    """The specification: ``moms`` hosts that each have ``vnodes`` vnodes of ``cores`` cores, and one server host.

    ``scheduler`` is the software that runs the jobs; Slurm and Torque are the machine's own, and their hosts are made
    by netns. ``pbs_exec`` is the installed PBS or Torque of all hosts: the machine's, or the image's
    (``pbs_in_image``). The podman engine
    makes the hosts from ``image`` (empty: its own) and mounts the machine's folders ``shares`` in them, by the same
    paths, read-only. Raises `TestbedError` for a value out of range.
    """

    __test__ = False

    name: str = "pbsteer"
    moms: int = 3
    cores: int = 8
    vnodes: int = 1
    pbs_exec: str = "/opt/pbs"
    engine: str = "netns"
    image: str = ""
    pbs_in_image: bool = False
    shares: tuple[str, ...] = ()
    users: tuple[User, ...] = USERS
    scheduler: str = "pbs"

    def __post_init__(self) -> None:
        check_name(self.name)
        _check_range("moms", self.moms, MAX_MOMS)
        _check_range("cores", self.cores, MAX_CORES)
        _check_range("vnodes", self.vnodes, MAX_VNODES)
        check_path("pbs_exec", self.pbs_exec)
        if self.engine not in ENGINES:
            raise TestbedError(f"testbed engine {self.engine!r} is not known; there is {', '.join(ENGINES)}")
        if self.scheduler not in SCHEDULERS:
            raise TestbedError(f"testbed scheduler {self.scheduler!r} is not known; there is {', '.join(SCHEDULERS)}")
        if self.scheduler != "pbs" and (self.engine != "netns" or self.vnodes != 1):
            name = self.scheduler.capitalize()
            raise TestbedError(f"a testbed of {name} has engine 'netns' and one vnode for each host")
        if self.image:
            check_image(self.image)
        for folder in self.shares:
            check_path("shared folder", folder)
        if self.engine != "podman" and (self.image or self.pbs_in_image or self.shares):
            raise TestbedError(
                f"engine {self.engine!r} takes no image and no shared folders: its hosts see this machine's"
            )

    @property
    def server(self) -> Host:
        """The host of server, scheduler and comm; its name is the testbed's, and so is the server part of job ids."""
        return Host(self.name, f"{network_of(self.name)}.1", is_server=True)

    @property
    def mom_hosts(self) -> tuple[Host, ...]:
        """The hosts of the MoMs, NAME-m1 to NAME-mN."""
        network = network_of(self.name)
        return tuple(Host(f"{self.name}-m{i}", f"{network}.{i + 1}", is_server=False) for i in range(1, self.moms + 1))

    @property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts, the server's first."""
        return (self.server, *self.mom_hosts)

    def vnode_names(self, mom: Host) -> tuple[str, ...]:
        """The vnodes of a MoM: its natural vnode, with the MoM's name, then NAME-v2 and on."""
        return (mom.name, *(f"{mom.name}-v{i}" for i in range(2, self.vnodes + 1)))

    def find_host(self, name: str) -> Host:
        """The host called ``name``: a full name, or the short ``server``, ``m1``, ``m2``. `TestbedError` if none is."""
        for host in self.hosts:
            if name in (host.name, short_name(self, host)):
                return host
        known = ", ".join(short_name(self, host) for host in self.hosts)
        raise TestbedError(f"testbed {self.name!r} has no host {name!r}; it has {known}")


def short_name(spec: TestbedSpec, host: Host) -> str:
    """The short name of a host: ``server``, ``m1``, ``m2``."""
    return "server" if host.is_server else host.name[len(spec.name) + 1 :]


def check_name(name: str) -> None:
    """Refuse a name that cannot be both a host name and a folder name; raises `TestbedError`."""
    if not _NAME.fullmatch(name):
        raise TestbedError(
            f"testbed name {name!r}: lower-case letters, digits and inner hyphens, starting with a letter, at most 31,"
            " and not m1, m2, ..., which are hosts"
        )


def check_image(name: str) -> None:
    """Refuse a text that cannot be the name of an image; raises `TestbedError`."""
    if not _IMAGE.fullmatch(name):
        raise TestbedError(f"image {name!r}: not a name that podman takes")


def check_path(what: str, path: str) -> None:
    """Refuse a path that PBS's shell scripts would split, as they use it unquoted from pbs.conf; raises
    `TestbedError`.
    """
    if not _SHELL_SAFE_PATH.fullmatch(path):
        raise TestbedError(
            f"{what} {path!r}: must be absolute, of letters, digits and / . _ + - (PBS's scripts need that)"
        )


def _check_range(what: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise TestbedError(f"testbed {what} {value}: between 1 and {most}")


def network_of(name: str) -> str:
    """The first three octets of a testbed's addresses: 10.24.0 to 10.87.255, from the name's digest.

    10.88 and above is left to podman, for the networks whose addresses it chooses itself.
    """
    digest = hashlib.sha256(name.encode()).digest()
    return f"10.{24 + digest[0] % 64}.{digest[1]}"
