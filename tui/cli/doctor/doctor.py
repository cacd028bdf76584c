"""``pbsteer doctor``: the checks in their order, shown as lines or JSON, or written into a bundle for support."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import click
from click.core import ParameterSource

from tui.backends.find_torque import TorquePlace, find_torque
from tui.cli.doctor.check_hooks_passes_settings import check_hooks, check_passes, check_settings
from tui.cli.doctor.check_server_queues_schedulers import (
    check_clocks,
    check_number_of_jobs,
    check_queues,
    check_schedulers,
    check_server,
    check_versions,
    check_vnodes,
)
from tui.cli.doctor.check_state_folder_and_disk import check_disk, check_folder
from tui.cli.doctor.finding import Finding, describe, exit_status
from tui.cli.doctor.observe_host_and_server import Observed, observe
from tui.cli.doctor.support_bundle import write_bundle
from tui.config.read_site_policy_toml import DEFAULT_POLICY
from tui.text.screen_line import safe

_PROC = Path("/proc")


class BundleFailedError(click.ClickException):
    """The bundle could not be written: exit status 2, as 1 only says that something is to be looked at."""

    exit_code = 2


def examine(observed: Observed, proc: Path = _PROC) -> Iterator[Finding]:
    """All findings, in the order of the report. ``proc``: where the kernel shows the processes of this host."""
    yield from check_versions(observed)
    yield from check_server(observed)
    status = observed.server_status
    if status is not None:
        modes = observed.modes()
        last_s = float(observed.passes[-1].get("time_s", 0.0)) if observed.passes else 0.0
        yield from check_queues(status, modes)
        yield from check_number_of_jobs(status, modes)
        yield from check_hooks(observed)
        yield from check_passes(observed)
        yield from check_schedulers(status, modes, proc)
        yield from check_vnodes(status)
        yield from check_clocks(status, observed.now_s, last_s)
    else:
        yield from check_passes(observed)
    yield from check_settings(observed)
    if observed.place is not None and observed.folder is not None:
        may_have_group = observed.applied is None or bool(observed.applied.server.journal_group)
        yield from check_folder(observed.folder, group_may_read=may_have_group)
        yield from check_disk(observed.place.home)


@click.command()
@click.pass_context
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
@click.option(
    "--bundle",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write an archive for support (tar.gz, mode 0600), without secrets, job names or users' names.",
)
@click.option(
    "--settings",
    "policy",
    type=click.Path(readable=False, path_type=Path),
    default=DEFAULT_POLICY,
    show_default=True,
    metavar="FILE",
    help="The site's settings file, compared with what the hooks run with.",
)
@click.option(
    "--pbs-conf",
    type=click.Path(readable=False, path_type=Path),
    default=lambda: os.environ.get("PBS_CONF_FILE", "/etc/pbs.conf"),
    show_default="$PBS_CONF_FILE, else /etc/pbs.conf",
    help="The server's pbs.conf.",
)
def doctor(context: click.Context, *, as_json: bool, bundle: Path | None, policy: Path, pbs_conf: Path) -> None:
    """Look at everything that support would ask about: what is wrong, and what to do.

    Of this host's Torque where the programs of its PATH are Torque's and no --pbs-conf is given, else of its PBS.
    One line for each thing: ok, warn, wrong, or unseen with what kept it from being looked at. Run it as root on the
    server's host to see all. Nothing is changed. Ends with 0 if all is ok, with 1 if something is to be looked at or
    could not be, with 2 if something is wrong or the bundle could not be written.
    """
    names_pbs = context.get_parameter_source("pbs_conf") is ParameterSource.COMMANDLINE
    torque = None if names_pbs else find_torque(os.environ)
    if torque is not None:
        observed, findings = _look_at_torque(torque, policy)
    else:
        observed = observe(pbs_conf, policy, time.time())
        findings = list(examine(observed))
    status = exit_status(findings)
    if as_json:
        click.echo(json.dumps({"status": status, "findings": [finding.to_data() for finding in findings]}))
    else:
        for line in describe(findings):
            click.echo(safe(line))
    if bundle is not None:
        try:
            write_bundle(bundle, observed, findings)
        except OSError as error:
            raise BundleFailedError(f"{bundle}: {error.strerror}: no bundle was written") from error
        if not as_json:
            click.echo(f"written: {safe(str(bundle))}; look into it before you send it (tar -xzOf)")
    raise SystemExit(status)


def _look_at_torque(place: TorquePlace, policy: Path) -> tuple[Observed, list[Finding]]:
    # A doctor of PBS loads nothing of Torque's.
    from tui.cli.doctor.check_torque import examine_torque  # noqa: PLC0415
    from tui.cli.doctor.observe_torque import observe_torque  # noqa: PLC0415

    observed = observe_torque(place, policy, time.time(), _PROC)
    return observed, list(examine_torque(observed))
