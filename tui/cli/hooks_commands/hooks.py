"""``pbsteer hooks``: shows what would change in the server, changes it, restores it, and reports the state of the
hooks.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, TypeVar

import click

from hooks.deploy.bundle_hook import BundleError, source_digest
from hooks.deploy.deploy_hooks import Deployment, Removed
from hooks.deploy.install_mom_scripts_run_as_root import SCRIPTS, install_scripts
from hooks.deploy.read_installed_server_state import DeployError, read_applied
from hooks.deploy.settings_and_partition.check_settings_against_server import find_missing
from hooks.deploy.settings_and_partition.partition_with_own_scheduler import Part
from hooks.deploy.settings_and_partition.settings_choice import BUILT_IN, Chosen
from hooks.deploy.steps_between_server_states import Step, show_remark, show_steps
from policy.settings.site_settings import Settings, SettingsError
from tui.backends.pbs.explain_unreachable_server import explain
from tui.backends.pbs.find_pbs import PbsPlace
from tui.backends.pbs.open_hook_deployment import open_deployment, qmgr_command, read_place
from tui.cli.hooks_commands.hooks_status import describe_health, fold, health_as_data, read_health
from tui.cli.hooks_commands.send_test_alert import send_test
from tui.cli.shared_options import ServerAwayError
from tui.config.read_site_policy_toml import DEFAULT_POLICY, read_settings
from tui.text.screen_line import safe

_AS_IT_SHOULD_BE = "nothing to do: the hooks are as they should be"
_NOTHING_THERE = "nothing to do: nothing of pbsteer is there"

Command = TypeVar("Command", bound=Callable[..., Any])

_conf_option = click.option(
    "--pbs-conf",
    type=click.Path(dir_okay=False, path_type=Path),
    default=lambda: os.environ.get("PBS_CONF_FILE", "/etc/pbs.conf"),
    show_default="$PBS_CONF_FILE, else /etc/pbs.conf",
    help="The server's pbs.conf.",
)
_json_option = click.option("--json", "as_json", is_flag=True, help="As one JSON object.")


class _SettingsOption(click.Option):
    """``--settings``, also accepted as ``--policy``, which the help leaves out: elsewhere that is a policy's name."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The line of the help."""
        record = super().get_help_record(ctx)
        return record and (record[0].replace(", --policy", ""), record[1])


def _settings_options(command: Command) -> Command:
    """Adds the options that choose the settings for `plan` and `apply`."""
    for option in (
        click.option("--defaults", is_flag=True, help="Apply the built-in settings, whatever was applied before."),
        click.option(
            "--settings",
            "--policy",
            "path",
            cls=_SettingsOption,
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help=f"The settings, in TOML [{DEFAULT_POLICY}, else those applied before; at first the built-in ones].",
        ),
    ):
        command = option(command)
    return command


def _part_options(command: Command) -> Command:
    """Adds the options of `plan` and `apply` that confine pbsteer to a part of the cluster."""
    for option in (
        click.option("--vnode", "vnodes", multiple=True, metavar="V", help="A vnode for the partition; several times."),
        click.option("--queue", "queues", multiple=True, metavar="Q", help="A queue for the partition; several times."),
        click.option("--partition", metavar="P", help="Have a partition of its own for these queues and vnodes."),
    ):
        command = option(command)
    return command


@click.group()
def hooks() -> None:
    """The hooks in the PBS server: plan, apply, remove, status, alert, scripts. As root, on the server's host."""


@hooks.command("plan", short_help="Show what `apply` would change; change nothing.")
@_settings_options
@_part_options
@_json_option
@_conf_option
def plan_command(
    *,
    path: Path | None,
    defaults: bool,
    partition: str | None,
    queues: tuple[str, ...],
    vnodes: tuple[str, ...],
    as_json: bool,
    pbs_conf: Path,
) -> None:
    """Show every command and every file that `apply` would write, and why; change nothing.

    What `apply` would stop at before it changes anything is named at the end.
    """
    part = _read_part(partition, queues, vnodes)
    deployment, _ = _open(pbs_conf)
    chosen = _choose(deployment, path, defaults=defaults)
    steps = _guard(lambda: deployment.plan_apply(chosen.settings, part))
    obstacle = _guard(lambda: deployment.find_obstacle(steps, chosen.settings))
    missing = list(find_missing(chosen.settings))
    if as_json:
        _show_json(steps, settings=chosen.to_data(), obstacle=obstacle, missing=missing)
    else:
        _echo_lines(line for sentence in missing for line in show_remark(sentence))
        _echo_lines((*chosen.show(), *(show_steps(steps) if steps else (_AS_IT_SHOULD_BE,))))
        _echo_lines(_show_obstacle("apply", obstacle))


@hooks.command("apply", short_help="Install the hooks and settings, as `plan` shows.")
@_settings_options
@_part_options
@_json_option
@_conf_option
def apply_command(
    *,
    path: Path | None,
    defaults: bool,
    partition: str | None,
    queues: tuple[str, ...],
    vnodes: tuple[str, ...],
    as_json: bool,
    pbs_conf: Path,
) -> None:
    """Do what `plan` shows. If a step fails, the server is put back as it was.

    With --json what was done is shown at the end, in the form of the plan.
    """
    part = _read_part(partition, queues, vnodes)
    deployment, _ = _open(pbs_conf)
    chosen = _choose(deployment, path, defaults=defaults)
    missing = list(find_missing(chosen.settings))
    if not as_json:
        _echo_lines(line for sentence in missing for line in show_remark(sentence))
        _echo_lines(chosen.show())
    steps = _guard(lambda: deployment.apply(chosen.settings, _silent if as_json else click.echo, part))
    mode = chosen.settings.server.mode
    if as_json:
        _show_json(steps, settings=chosen.to_data(), mode=mode, missing=missing)
    elif steps:
        click.echo(f"done: hooks {source_digest()} are in the server; a queue that names no mode is in {mode}")
    else:
        click.echo(_AS_IT_SHOULD_BE)


@hooks.command("remove", short_help="Take the hooks out, and hand scheduling back.")
@click.option("--plan", "only_plan", is_flag=True, help="Show what would be done, and why; change nothing.")
@click.option("--keep-partition", is_flag=True, help="Leave the partition that `apply --partition` made as it is.")
@_json_option
@_conf_option
def remove_command(*, only_plan: bool, keep_partition: bool, as_json: bool, pbs_conf: Path) -> None:
    """Take the hooks, their resources and their files out of the server, and hand scheduling back.

    With --plan nothing is changed, and what it would stop at is named at the end. With --json the plan is one JSON
    object, and so is what was done, shown at the end.
    """
    deployment, _ = _open(pbs_conf)
    if only_plan:
        steps = _guard(lambda: deployment.plan_remove(keep_partition=keep_partition))
        obstacle = _guard(lambda: deployment.find_obstacle(steps))
        limited = _guard(deployment.find_limited)
        if as_json:
            _show_json(steps, obstacle=obstacle, limited=limited)
        else:
            _echo_lines(show_steps(steps) if steps else (_NOTHING_THERE,))
            _echo_lines(_show_obstacle("remove", obstacle))
            _echo_lines(show_remark(_show_limited(limited)) if limited else ())
        return
    say = _silent if as_json else click.echo
    removed: Removed = _guard(lambda: deployment.remove(say, keep_partition=keep_partition))
    if as_json:
        _show_json(removed.steps, left=removed.left, limited=removed.limited)
    elif removed.steps and not removed.left:
        click.echo("done: nothing of pbsteer is left in the server")
    elif not removed.left:
        click.echo(_NOTHING_THERE)
    busy = [name for name in removed.left if name not in removed.limited]
    if busy:
        click.echo(
            f"the hooks are gone, but jobs, queues or vnodes still have {', '.join(busy)} (where"
            " job_history_enable is set, ended jobs count until they are forgotten): run this again when they are gone",
            err=True,
        )
    if removed.limited:
        click.echo(f"the hooks are gone, but {_show_limited(removed.limited)}", err=True)
    if removed.left:
        raise SystemExit(1)


@hooks.command("status", short_help="Show hooks, modes, the last pass, and problems.")
@_json_option
@_conf_option
def status_command(*, as_json: bool, pbs_conf: Path) -> None:
    """Say which hooks are in the server, each queue's mode, the last pass, and the last errors.

    Ends with 0 where all is well, with 1 where there is a problem. What ends by itself is shown too, and is not a
    problem.
    """
    deployment, place = _open(pbs_conf)
    now_s = time.time()
    health = _guard(lambda: read_health(deployment, place.home, now_s))
    if as_json:
        click.echo(json.dumps(health_as_data(health, now_s)))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        _echo_lines(fold(describe_health(health, now_s), width))
    if health.problems:
        raise SystemExit(1)


@hooks.command("alert", short_help="Send a test alert.")
@_conf_option
def alert_command(*, pbs_conf: Path) -> None:
    """Send a test alert by syslog and by the command of the applied settings, and say what became of each.

    Ends with 0 where all that is set worked, else with 1.
    """
    deployment, _ = _open(pbs_conf)
    settings: Settings | None = _guard(lambda: read_applied(deployment.read()))
    if settings is None:
        raise click.ClickException("no hooks with settings are in this server: pbsteer hooks apply")
    lines, is_well = send_test(settings)
    _echo_lines(lines)
    if not is_well:
        raise SystemExit(1)


@hooks.command("scripts", short_help="Write the checkpoint scripts for the hosts.")
@click.option(
    "--to",
    "folder",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Write them into this folder, which is made if it is not there; the same one on each host that runs jobs.",
)
@click.option("--criu", metavar="PROGRAM", help="Show the lines for CRIU, and have the script run this one.")
@_conf_option
def scripts_command(folder: Path, criu: str | None, pbs_conf: Path) -> None:
    """Write the scripts for hosts whose MoM checkpoints jobs, and show the lines that its configuration needs."""
    place = _place(pbs_conf)
    try:
        lines = list(install_scripts(folder.absolute(), place.exec_path, criu))
    except (OSError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"written: {', '.join(str(folder / name) for name in SCRIPTS)}")
    click.echo(f"for {place.home}/mom_priv/config on each host that runs jobs, then send its pbs_mom a HUP:")
    click.echo("\n".join(lines))
    click.echo(f"for jobs that are scripts and get a signal: copy {folder / 'profile.sh'} to /etc/profile.d")


def _read_part(partition: str | None, queues: tuple[str, ...], vnodes: tuple[str, ...]) -> Part | None:
    if partition is None:
        if queues or vnodes:
            raise click.UsageError("--queue and --vnode belong to --partition P")
        return None
    try:
        return Part(partition, queues, vnodes)
    except DeployError as error:
        raise click.UsageError(str(error)) from error


def _show_limited(limited: Mapping[str, Sequence[str]]) -> str:
    """Which resources a removal leaves because limits name them, and what to unset."""
    lines = [qmgr_command(line) for each in limited.values() for line in each]
    verb = "stay, as limits name them" if len(limited) > 1 else "stays, as limits name it"
    return f"{', '.join(limited)} {verb}: {', '.join(lines)}, and then run pbsteer hooks remove again"


def _show_json(steps: Sequence[Step], **more: object) -> None:
    groups = [
        {"why": why, "steps": [step.to_data() for step in group]}
        for why, group in itertools.groupby(steps, key=lambda step: step.why)
    ]
    click.echo(json.dumps({"hash": source_digest(), **more, "groups": groups}))


def _show_obstacle(command: str, obstacle: str) -> list[str]:
    """The lines below a plan whose command would stop at once."""
    return show_remark(f"{command} would stop here, before it changes anything: {obstacle}") if obstacle else []


def _echo_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(safe(line))


def _silent(_: str) -> None:
    """Takes the place of ``click.echo`` where all output comes at the end, as JSON."""


def _open(pbs_conf: Path) -> tuple[Deployment, PbsPlace]:
    place = _place(pbs_conf)
    return _guard(lambda: open_deployment(place)), place


def _place(pbs_conf: Path) -> PbsPlace:
    place: PbsPlace = _guard(lambda: read_place(pbs_conf))
    return place


def _guard(action: Callable[[], Any]) -> Any:
    # A lost terminal or a kill ends the command as Ctrl-C does: what was begun is undone. Signals that are ignored
    # (nohup) stay ignored.
    heard = [number for number in (signal.SIGHUP, signal.SIGTERM) if signal.getsignal(number) == signal.SIG_DFL]
    for number in heard:
        signal.signal(number, _end)
    try:
        return action()
    except (DeployError, BundleError, OSError) as error:
        away = explain(str(error), "")
        raise (ServerAwayError(safe(away)) if away else click.ClickException(str(error))) from error
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)


def _choose(deployment: Deployment, path: Path | None, *, defaults: bool) -> Chosen:
    """The settings named by the options, else the host's own file, else those in the server."""
    if defaults and path is not None:
        raise click.UsageError("--settings and --defaults: give one of them, not both")
    if path is None and not defaults and DEFAULT_POLICY.exists():
        path = DEFAULT_POLICY
    try:
        given = read_settings(path) if path is not None else Settings() if defaults else None
    except SettingsError as error:
        raise click.ClickException(str(error)) from error
    chosen: Chosen = _guard(lambda: deployment.choose(given, str(path) if path is not None else BUILT_IN))
    return chosen


def _end(number: int, _: object) -> None:
    raise SystemExit(128 + number)
