"""The interface of a scheduler's daemons: a module with these five functions. All else of a testbed is independent of
the scheduler.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Protocol

from container.pbs.daemons import RunOnHost
from container.testbed_spec import TestbedSpec


class Daemons(Protocol):
    """Starts and stops a cluster's daemons, and reads its vnodes. Raises `TestbedError`."""

    def start_cluster(self, spec: TestbedSpec, folder: Path, run_on: RunOnHost, say: Callable[[str], None], /) -> None:
        """Start all daemons on hosts that are laid out; return when the server answers and every vnode is free."""

    def server_answers(self, spec: TestbedSpec, run_on: RunOnHost, /) -> bool:
        """Whether the server answers within ten seconds."""

    def read_vnodes(self, spec: TestbedSpec, run_on: RunOnHost, /) -> dict[str, Any]:
        """Vnode name -> its attributes, among them ``state`` and ``resources_available``, in PBS's words."""

    def stop_server(self, spec: TestbedSpec, folder: Path, run_on: RunOnHost, /) -> None:
        """Stop the server; jobs go on running. Return when it has ended. Safe to repeat."""

    def start_server(self, spec: TestbedSpec, run_on: RunOnHost, /) -> None:
        """Start the server again; return when it answers."""
