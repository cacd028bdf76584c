"""The interface of an engine, which makes hosts: a module with these four functions.

A new host has no PBS. It must see the testbed's folder by the machine's own path, and have the marks of
`container.hosts.find_and_enter_running_host`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Callable, Protocol

from container.engines import netns_engine, podman_engine
from container.testbed_spec import Host, TestbedSpec


class Engine(Protocol):
    """Starts hosts, gives them their own files, and ends them. Raises `TestbedError`."""

    def prepare(self, spec: TestbedSpec, say: Callable[[str], None], /) -> None:
        """Refuse a machine that cannot run such hosts, or prepare it for them, before anything is started."""

    def start_hosts(self, spec: TestbedSpec, testbed: Path, /) -> dict[str, int]:
        """Start all hosts, joined by a network; returns host name -> number of its first process on the machine."""

    def furnish_host(self, pid: int, host: Host, covers: Mapping[Path, Path], /) -> None:
        """Make a host see its own files: path on the host -> path, in the testbed's folder, of the file to be seen
        there.
        """

    def kill_hosts(self, testbed: Path, /) -> bool:
        """End all hosts of the testbed in this folder, whatever state they are in; returns whether there was any."""


ENGINES: dict[str, Engine] = {"podman": podman_engine, "netns": netns_engine}
"""The engines by name. A take-down calls all in this order: netns would also find the first processes of podman's
hosts.
"""
