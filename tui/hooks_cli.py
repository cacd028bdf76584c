"""``pbsteer hooks``: show what would change in the server, change it, put it back, and say how the hooks are doing."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, TypeVar

import click

from hooks.bundle import BundleError, source_digest
from hooks.deploy import HOOKS, Deployment, Part
from hooks.health import Health, check_health
from hooks.installed import DeployError, Reply
from hooks.let_go import Programs
from hooks.moms import SCRIPTS, install_scripts
from hooks.resources import MODE
from hooks.state import LAST_PASS, State, state_folder
from hooks.steps import Step, show_steps
from policy.settings import Settings, SettingsError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]

_ANSWER_TIMEOUT_S = 60
_LOG_TAIL_BYTES = 1 << 20
_SHOWN_ERRORS = 10

Command = TypeVar("Command", bound=Callable[..., Any])

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


_json_option = click.option("--json", "as_json", is_flag=True, help="As one JSON object.")


def _part_options(command: Command) -> Command:
    """What `plan` and `apply` take to have pbsteer on a part of the cluster."""
    for option in (
        click.option("--vnode", "vnodes", multiple=True, metavar="V", help="A vnode for the partition; several times."),
        click.option("--queue", "queues", multiple=True, metavar="Q", help="A queue for the partition; several times."),
        click.option("--partition", metavar="P", help="Have a partition of its own for these queues and vnodes."),
    ):
        command = option(command)
    return command


@click.group()
def hooks() -> None:
    """The hooks in the PBS server: plan, apply, remove, status, scripts. As root, on the server's host."""


@hooks.command("plan")
@_policy_option
@_part_options
@_json_option
@_conf_option
def plan_command(
    *,
    policy: Path | None,
    partition: str | None,
    queues: tuple[str, ...],
    vnodes: tuple[str, ...],
    as_json: bool,
    pbs_conf: Path,
) -> None:
    """Show every qmgr line and every file that `apply` would write, and why; change nothing."""
    deployment, _ = _open(pbs_conf)
    steps = _guard(lambda: deployment.plan_apply(_read_settings(policy), _read_part(partition, queues, vnodes)))
    _show_plan(steps, "nothing to do: the hooks are as they should be", as_json=as_json)


@hooks.command("apply")
@_policy_option
@_part_options
@_conf_option
def apply_command(
    policy: Path | None, partition: str | None, queues: tuple[str, ...], vnodes: tuple[str, ...], pbs_conf: Path
) -> None:
    """Do what `plan` shows. If a step fails, the server is put back as it was."""
    deployment, _ = _open(pbs_conf)
    settings = _read_settings(policy)
    _guard(lambda: deployment.apply(settings, click.echo, _read_part(partition, queues, vnodes)))
    click.echo(
        f"hooks {source_digest()} are in the server; the mode where a queue names none is {settings.server.mode}"
    )


@hooks.command("remove")
@click.option("--plan", "only_plan", is_flag=True, help="Show what would be done, and why; change nothing.")
@click.option("--keep-partition", is_flag=True, help="Leave the partition that `apply --partition` made as it is.")
@_json_option
@_conf_option
def remove_command(*, only_plan: bool, keep_partition: bool, as_json: bool, pbs_conf: Path) -> None:
    """Take the hooks, their resources and their files out of the server, and hand scheduling back.

    With --plan nothing is changed; --json goes with it.
    """
    deployment, _ = _open(pbs_conf)
    if as_json and not only_plan:
        raise click.UsageError("--json shows the plan: remove --plan --json")
    if only_plan:
        steps = _guard(lambda: deployment.plan_remove(keep_partition=keep_partition))
        _show_plan(steps, "nothing to do: nothing of pbsteer is there", as_json=as_json)
        return
    left = _guard(lambda: deployment.remove(click.echo, keep_partition=keep_partition))
    if left:
        raise click.ClickException(
            f"the hooks are gone, but jobs still ask for {', '.join(left)} (where job_history_enable is set, ended ones"
            " count until they are forgotten): run this again when they are gone"
        )
    click.echo("nothing of pbsteer is left in the server")


@hooks.command("status")
@_json_option
@_conf_option
def status_command(*, as_json: bool, pbs_conf: Path) -> None:
    """Say which hooks are in the server, each queue's mode, the last pass, and the last errors.

    Ends with 0 where all is well, with 1 where something needs attention.
    """
    deployment, conf = _open(pbs_conf)
    home = Path(conf["PBS_HOME"])
    now_s = time.time()
    entry = State(state_folder(str(home))).read_published(LAST_PASS)
    health = check_health(_guard(deployment.read), HOOKS, _read_tracking(home), entry, _find_errors(home), now_s)
    if as_json:
        click.echo(json.dumps(_health_as_data(health, now_s)))
    else:
        for line in _describe_health(health, now_s):
            click.echo(line)
    if health.attention:
        raise SystemExit(1)


@hooks.command("scripts")
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
    conf = _read_conf(pbs_conf)
    try:
        lines = list(install_scripts(folder.absolute(), Path(conf["PBS_EXEC"]), criu))
    except (OSError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"written: {', '.join(str(folder / name) for name in SCRIPTS)}")
    click.echo(f"for {conf['PBS_HOME']}/mom_priv/config on each host that runs jobs, then send its pbs_mom a HUP:")
    click.echo("\n".join(lines))
    click.echo(f"for jobs that are scripts and get a signal: copy {folder / 'profile.sh'} to /etc/profile.d")


def _read_part(partition: str | None, queues: tuple[str, ...], vnodes: tuple[str, ...]) -> Part | None:
    if partition is None:
        if queues or vnodes:
            raise click.UsageError("--queue and --vnode belong to --partition P")
        return None
    return Part(partition, queues, vnodes)


def _show_plan(steps: Sequence[Step], nothing: str, *, as_json: bool) -> None:
    if as_json:
        groups = [
            {"why": why, "steps": [step.to_data() for step in group]}
            for why, group in itertools.groupby(steps, key=lambda step: step.why)
        ]
        click.echo(json.dumps({"hash": source_digest(), "groups": groups}))
    else:
        click.echo("\n".join(show_steps(steps)) if steps else nothing)


def _open(pbs_conf: Path) -> tuple[Deployment, Mapping[str, str]]:
    conf = _read_conf(pbs_conf)
    try:
        programs = _make_programs(Path(conf["PBS_EXEC"]) / "bin")
        return Deployment(conf["PBS_HOME"], lambda line: programs(("qmgr", "-c", line)), programs), conf
    except DeployError as error:
        raise click.ClickException(str(error)) from error


def _guard(action: Callable[[], Any]) -> Any:
    # A lost terminal or a kill ends the command as Ctrl-C does: what was begun is undone.
    # What is ignored (nohup) stays so.
    heard = [number for number in (signal.SIGHUP, signal.SIGTERM) if signal.getsignal(number) == signal.SIG_DFL]
    for number in heard:
        signal.signal(number, _end)
    try:
        return action()
    except (DeployError, BundleError, OSError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        for number in heard:
            signal.signal(number, signal.SIG_DFL)


def _read_settings(policy: Path | None) -> Settings:
    if policy is None:
        return Settings()
    try:
        return Settings.from_data(tomllib.loads(policy.read_text(encoding="utf-8")), str(policy))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise click.ClickException(f"{policy}: {error}") from error
    except SettingsError as error:
        raise click.ClickException(str(error)) from error


def _end(number: int, _: object) -> None:
    raise SystemExit(128 + number)


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


def _make_programs(folder: Path) -> Programs:
    def run(argv: Sequence[str]) -> Reply:
        program, *arguments = argv
        try:
            done = subprocess.run(
                [str(folder / program), *arguments],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_ANSWER_TIMEOUT_S,
                check=False,
            )
        except OSError as error:
            return Reply(1, "", f"{folder / program}: {error.strerror}")
        except subprocess.TimeoutExpired:
            return Reply(1, "", f"no answer within {_ANSWER_TIMEOUT_S} s")
        said, complaint = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
        return Reply(done.returncode, said, complaint)

    return run


def _describe_health(health: Health, now_s: float) -> Iterator[str]:
    width = max(len(hook.name) for hook in health.hooks)
    for hook in health.hooks:
        state = f"{'enabled' if hook.enabled else 'DISABLED'}, {hook.version} {hook.digest}".rstrip()
        known = ", this version" if hook.digest == source_digest() else ""
        yield f"{hook.name:<{width}} " + (state + known if hook.digest or hook.enabled else "not there or not ours")
    yield from _describe_last_pass(health.last_pass, now_s)
    yield "errors in today's server log: " + ("none" if not health.errors else "")
    yield from (f"  {_printable(line)}" for line in health.errors)
    yield "all is well" if not health.attention else "needs attention:"
    yield from (f"  {_printable(sentence)}" for sentence in health.attention)


def _health_as_data(health: Health, now_s: float) -> dict[str, Any]:
    entry = {key: value for key, value in health.last_pass.items() if key not in ("settings", "ledger")}
    return {
        "well": not health.attention,
        "attention": list(health.attention),
        "hash": source_digest(),
        "hooks": [hook._asdict() for hook in health.hooks],
        "last_pass": entry or None,
        "last_pass_age_s": round(now_s - entry["time_s"], 1) if entry else None,
        "errors": list(health.errors),
    }


def _read_tracking(home: Path) -> str:
    """PBS's own file that tells what MoMs have not been sent yet; empty where there is none."""
    try:
        return (home / "server_priv" / "hooks" / "tracking.TR").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


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
    would = entry.get("would")
    if would and (would["starts"] or would["preempts"]):
        since = time.strftime("%Y-%m-%d %H:%M", time.localtime(would["since_s"]))
        lines.append(
            f"  where the mode leaves it to others, since {since}: it would have started {would['starts']} jobs and"
            f" preempted {would['preempts']}"
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
