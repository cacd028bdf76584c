"""What hosts are made of: an engine is a module with these four functions; all else about a testbed is the same.

A host comes up with nothing of PBS; it must have the folder of the testbed by the machine's own path, and be found by
the marks of `container.hosts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Callable, Protocol

from container import netns, podman
from container.spec import Host, TestbedSpec


class Engine(Protocol):
    """Starts hosts, gives them their own files, and ends them; raises `TestbedError`."""

    def prepare(self, spec: TestbedSpec, say: Callable[[str], None], /) -> None:
        """Refuse a machine that cannot have such hosts, or make it ready for them, before anything is started."""

    def start_hosts(self, spec: TestbedSpec, testbed: Path, /) -> dict[str, int]:
        """Start all hosts, joined by a network; returns host name -> its first process on the machine."""

    def furnish_host(self, pid: int, host: Host, covers: Mapping[Path, Path], /) -> None:
        """Make a host see its own files: path on the host -> path, in the testbed's folder, of what is to be there."""

    def kill_hosts(self, testbed: Path, /) -> bool:
        """End all hosts of the testbed in this folder, whatever state they are in; whether there was any."""


ENGINES: dict[str, Engine] = {"podman": podman, "netns": netns}
"""By name. A take-down asks every one in this order: netns would also find the first processes of podman's hosts."""
