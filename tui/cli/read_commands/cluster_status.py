"""``pbsteer status``: the state of the cluster, once.

The line that names the server is printed as soon as the server has replied; what the rest needs is imported only then.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui.cli.shared_options import open_backend_by_options, poll_cluster_view, source_options

if TYPE_CHECKING:
    from hooks.pbs.server_status_type_and_attributes import ServerStatus
    from policy import Settings
    from tui.backends.interface.backend_protocol import Backend


@click.command()
@source_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
def status(*, demo: bool, server: str, settings_path: Path | None, as_json: bool) -> None:
    """One look at the cluster, then exit.

    Cores, vnodes and jobs, each queue with the head it is reserved for, what needs attention, and what the policy
    would do in a pass made now. Nothing is changed.
    """
    backend: Backend = open_backend_by_options(demo=demo, server=server, settings_path=settings_path)

    def print_server_and_mode(server_status: ServerStatus, settings: Settings) -> None:
        if not as_json:
            click.echo(_server_and_mode(server_status, settings, backend))

    try:
        cluster = poll_cluster_view(backend, print_server_and_mode)
        from tui.backends.migration_spool import MigrationSpool  # noqa: PLC0415 - after the first line, as all below
        from tui.backends.pbs.missing_or_disabled_hooks import find_hook_faults  # noqa: PLC0415

        cluster = replace(cluster, hook_faults=find_hook_faults(backend, cluster.settings))
        migration = MigrationSpool(backend).read_migration()
    finally:
        backend.close()
    from tui.pages.cluster.status_command_data_and_text import status_data, status_lines  # noqa: PLC0415

    if as_json:
        click.echo(json.dumps(status_data(cluster, simulated=backend.simulated, migration=migration)))
        return
    for line in status_lines(cluster, shutil.get_terminal_size((100, 24)).columns, migration):
        click.echo(line)


def _server_and_mode(server_status: ServerStatus, settings: Settings, backend: Backend) -> str:
    """The first line: the server's name and the mode of its queues."""
    from hooks.pbs.server_status_type_and_attributes import NAME  # noqa: PLC0415 - a server is there by now
    from hooks.translate.queues import read_modes  # noqa: PLC0415
    from tui.model.mode_of_all_queues import mode_of_all  # noqa: PLC0415

    name = server_status.server.get(NAME, "") or backend.name
    mode = mode_of_all(read_modes(server_status, settings), settings)
    return f"{'SIMULATED ' if backend.simulated else ''}{name} · {mode}"
