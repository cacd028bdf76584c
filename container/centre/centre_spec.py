"""The specification of a centre, as pure data: its clusters, each a testbed, and the addresses of their servers.

All follows from the centre's name and its list of schedulers, so a centre can be taken down without a record.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from container.testbed_spec import USERS, TestbedError, TestbedSpec, User, check_name, network_of

LETTERS = "abcdefghij"
MIGRATING = ("pbs", "slurm")
"""The schedulers between whose clusters jobs migrate."""
SERVICE = User("mg", "mg")
"""The account that the migration of jobs runs as, on every server."""

GUESTS = "global"
"""The queue, or the partition, in which jobs of other clusters land."""

OWN = "workq"
"""The queue, or the partition, of a cluster's own users."""


@dataclass(frozen=True)
class Member:
    """One cluster of a centre: its letter, its testbed, and its server's address in the centre's own network."""

    letter: str
    testbed: TestbedSpec
    address: str


@dataclass(frozen=True)
class CentreSpec:
    """The specification: one cluster for each of ``schedulers``, named ``a``, ``b``, ..., and alike otherwise.

    Raises `TestbedError` for a value out of range.
    """

    name: str = "centre"
    schedulers: tuple[str, ...] = ("pbs", "pbs", "slurm")
    moms: int = 2
    cores: int = 8
    pbs_exec: str = "/opt/pbs"

    def __post_init__(self) -> None:
        check_name(f"{self.name}-a")
        if not 2 <= len(self.schedulers) <= len(LETTERS):
            raise TestbedError(f"clusters of a centre {len(self.schedulers)}: between 2 and {len(LETTERS)}")
        for scheduler in self.schedulers:
            if scheduler not in MIGRATING:
                raise TestbedError(f"cluster {scheduler!r} of a centre: one of {', '.join(MIGRATING)}")
        networks = {network_of(name) for name in (self.name, *(member.testbed.name for member in self.members))}
        if len(networks) <= len(self.schedulers):
            raise TestbedError(f"centre {self.name!r}: two of its networks would have the same addresses; rename it")

    @property
    def members(self) -> tuple[Member, ...]:
        """The clusters, in the order of their letters."""
        network = network_of(self.name)
        return tuple(
            Member(letter, self._testbed(letter, scheduler), f"{network}.{number}")
            for number, (letter, scheduler) in enumerate(zip(LETTERS, self.schedulers), start=1)
        )

    def find(self, letter: str) -> Member:
        """The cluster of this letter; `TestbedError` if there is none."""
        for member in self.members:
            if letter == member.letter:
                return member
        known = ", ".join(member.letter for member in self.members)
        raise TestbedError(f"centre {self.name!r} has no cluster {letter!r}; it has {known}")

    def _testbed(self, letter: str, scheduler: str) -> TestbedSpec:
        return TestbedSpec(
            name=f"{self.name}-{letter}",
            moms=self.moms,
            cores=self.cores,
            pbs_exec=self.pbs_exec,
            users=(*USERS, SERVICE),
            scheduler=scheduler,
        )


@dataclass(frozen=True)
class Programs:
    """Where the programs of migration are, by the same path on every host."""

    folder: Path

    def path(self, name: str) -> str:
        """The path of one of them."""
        return str(self.folder / name)
