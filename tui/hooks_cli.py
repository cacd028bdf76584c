"""``pbsteer hooks``: show what would change in the server, change it, put it back, and say how the hooks are doing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

import click

from hooks.bundle import BundleError, digest_of, source_digest
from hooks.deploy import HOOKS, DeployError, Deployment, Qmgr, Reply
from hooks.resources import MODE
from hooks.state import LAST_PASS, State, state_folder
from policy.settings import Settings, SettingsError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

_QMGR_TIMEOUT_S = 60
_LOG_TAIL_BYTES = 1 << 20
_SHOWN_ERRORS = 10

_conf_option = click.option(
    "--pbs-conf",
    type=click.Path(dir_okay=False, path_type=Path),
    default=lambda: os.environ.get("PBS_CONF_FILE", "/etc/pbs.conf"),
    show_default="$PBS_CONF_FILE, else /etc/pbs.conf",
    help="The server's pbs.conf.",
)
_policy_option = click.option(
    "--policy",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The settings, in TOML [default: the built-in ones].",
)


@click.group()
def hooks() -> None:
    """The hooks in the PBS server: plan, apply, remove, status. As root, on the server's host."""


@hooks.command("plan")
@_policy_option
@_conf_option
def plan_command(policy: Path | None, pbs_conf: Path) -> None:
    """Show every qmgr line and every file that `apply` would write; change nothing."""
    deployment, _ = _open(pbs_conf)
    steps = _guard(lambda: deployment.plan_apply(_read_settings(policy)))
    click.echo("\n".join(step.show() for step in steps) if steps else "nothing to do: the hooks are as they should be")


@hooks.command("apply")
@_policy_option
@_conf_option
def apply_command(policy: Path | None, pbs_conf: Path) -> None:
    """Do what `plan` shows. If a step fails, the server is put back as it was."""
    deployment, _ = _open(pbs_conf)
    settings = _read_settings(policy)
    _guard(lambda: deployment.apply(settings, click.echo))
    click.echo(
        f"hooks {source_digest()} are in the server; the mode where a queue names none is {settings.server.mode}"
    )


@hooks.command("remove")
@click.option("--plan", "only_plan", is_flag=True, help="Show what would be done; change nothing.")
@_conf_option
def remove_command(*, only_plan: bool, pbs_conf: Path) -> None:
    """Take the hooks, their resources and their files out of the server, and hand scheduling back."""
    deployment, _ = _open(pbs_conf)
    if only_plan:
        steps = _guard(deployment.plan_remove)
        click.echo("\n".join(step.show() for step in steps) if steps else "nothing to do: nothing of pbsteer is there")
        return
    left = _guard(lambda: deployment.remove(click.echo))
    if left:
        raise click.ClickException(
            f"the hooks are gone, but jobs still ask for {', '.join(left)} (where job_history_enable is set, ended ones"
            " count until they are forgotten): run this again when they are gone"
        )
    click.echo("nothing of pbsteer is left in the server")


@hooks.command("status")
@_conf_option
def status_command(pbs_conf: Path) -> None:
    """Say which hooks are in the server, each queue's mode, the last pass, and the last errors."""
    deployment, conf = _open(pbs_conf)
    found = _guard(deployment.read)
    for name in HOOKS:
        hook = found.hooks.get(name)
        digest = digest_of(hook.script or "") if hook else ""
        known = "this version" if digest == source_digest() else f"not this version, which is {source_digest()}"
        state = f"{'enabled' if hook.enabled else 'DISABLED'}, {digest or 'no hash'}, {known}" if hook else "not there"
        click.echo(f"{name:<20} {state}")
    home = conf["PBS_HOME"]
    for line in _describe_last_pass(State(state_folder(home)).read_published(LAST_PASS), time.time()):
        click.echo(line)
    errors = _find_errors(Path(home))
    click.echo("errors in today's server log: " + ("none" if not errors else ""))
    for line in errors:
        click.echo(f"  {_printable(line)}")


def _open(pbs_conf: Path) -> tuple[Deployment, Mapping[str, str]]:
    conf = _read_conf(pbs_conf)
    try:
        return Deployment(conf["PBS_HOME"], _make_qmgr(Path(conf["PBS_EXEC"]) / "bin" / "qmgr")), conf
    except DeployError as error:
        raise click.ClickException(str(error)) from error


def _guard(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except (DeployError, BundleError, OSError) as error:
        raise click.ClickException(str(error)) from error


def _read_settings(policy: Path | None) -> Settings:
    if policy is None:
        return Settings()
    try:
        return Settings.from_data(tomllib.loads(policy.read_text(encoding="utf-8")), str(policy))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise click.ClickException(f"{policy}: {error}") from error
    except SettingsError as error:
        raise click.ClickException(str(error)) from error


def _read_conf(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}: is this the PBS server's host?") from error
    conf = {}
    for line in lines:
        key, equals, value = line.partition("=")
        if equals and not key.startswith("#"):
            conf[key.strip()] = value.strip().strip("\"'")
    for key in ("PBS_HOME", "PBS_EXEC"):
        if not conf.get(key):
            raise click.ClickException(f"{path}: {key} is not set")
    return conf


def _make_qmgr(program: Path) -> Qmgr:
    def run(line: str) -> Reply:
        try:
            done = subprocess.run(
                [str(program), "-c", line],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_QMGR_TIMEOUT_S,
                check=False,
            )
        except OSError as error:
            return Reply(1, "", f"{program}: {error.strerror}")
        except subprocess.TimeoutExpired:
            return Reply(1, "", f"no answer within {_QMGR_TIMEOUT_S} s")
        said, complaint = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
        return Reply(done.returncode, said, complaint)

    return run


def _describe_last_pass(entry: Mapping[str, Any], now_s: float) -> list[str]:
    if not entry:
        return ["last pass: none has been seen"]
    lines = [f"{'queue':<20} mode ({MODE})"]
    lines += [
        f"  {_printable(queue):<18} {mode}"
        + (", not driven: see below" if mode == "drive" and queue not in entry["acted"] else "")
        for queue, mode in sorted(entry["modes"].items())
    ]
    seconds = sum(entry["seconds"].values())
    lines.append(
        f"last pass: {now_s - entry['time_s']:.0f} s ago, took {seconds:.2f} s; {entry['running']} jobs run,"
        f" {entry['waiting']} wait; planned {len(entry['starts'])} starts and {len(entry['preempts'])} preemptions;"
        f" done: {len(entry['started'])} and {len(entry['requeued'])}"
    )
    lines += [f"  {_printable(note)}" for note in [*entry["notes"], *entry["failures"]]]
    return lines


def _find_errors(home: Path) -> list[str]:
    """The last complaints of the hooks in today's server log."""
    path = home / "server_logs" / time.strftime("%Y%m%d")
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - _LOG_TAIL_BYTES))
            tail = log.read().decode("utf-8", "replace")
    except OSError as error:
        return [f"{path}: {error.strerror}"]
    return [line for line in tail.splitlines() if ";pbsteer: " in line][-_SHOWN_ERRORS:]


def _printable(text: str) -> str:
    """Without control characters: what is shown may hold what a user wrote."""
    return "".join(character if character.isprintable() else "?" for character in text)
