"""``pbsteer``: the command line. Without a command it opens the console.

Each command's module is imported only when the command runs, so that help is quick and a module that cannot be imported
fails alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from tui.cli.options_before_command import hand_down
from tui.cli.shared_options import ServerAwayError, settings_option
from tui.cli.version_and_compiled_policy import show_version
from tui.config.theme_names import THEME_NAMES


class Part(NamedTuple):
    """A command imported on use: its module, its name there, and its line in the list of commands."""

    module: str
    attribute: str
    help: str


COMMANDS: Mapping[str, Part] = {
    "status": Part("tui.cli.read_commands.cluster_status", "status", "One look at the cluster, then exit."),
    "explain": Part("tui.cli.read_commands.explain_job", "explain", "Why a job waits, and what would have to change."),
    "when": Part(
        "tui.cli.read_commands.when_job_starts", "when", "When a waiting job will start, or one not submitted yet."
    ),
    "whatif": Part(
        "tui.cli.read_commands.what_if",
        "what_if",
        "What a change would do over the next 24 hours: who waits, what idles.",
    ),
    "jobs": Part(
        "tui.cli.read_commands.table_commands",
        "jobs",
        "Jobs as a table, CSV or JSON: columns, filter and sort as you like.",
    ),
    "vnodes": Part("tui.cli.read_commands.table_commands", "vnodes", "Vnodes as a table, CSV or JSON."),
    "queues": Part("tui.cli.read_commands.table_commands", "queues", "Queues as a table, CSV or JSON."),
    "quotas": Part("tui.cli.read_commands.table_commands", "quotas", "Use beside quota, as a table, CSV or JSON."),
    "quota": Part(
        "tui.cli.change_commands.quota_show_set_and_priority", "quota", "Show soft quotas beside use, or set one."
    ),
    "priority": Part(
        "tui.cli.change_commands.quota_show_set_and_priority", "priority", "Set a user's priority in a queue."
    ),
    "do": Part(
        "tui.cli.change_commands.do_operation", "do", "Hold, delete, move jobs, drain vnodes, switch queues and more."
    ),
    "audit": Part(
        "tui.cli.read_commands.audit_of_administrators_changes",
        "audit",
        "Who changed what on the server, from where and when.",
    ),
    "pause": Part("tui.cli.change_commands.pause", "pause", "Start and preempt nothing until resumed, in any mode."),
    "resume": Part("tui.cli.change_commands.pause", "resume", "Start and preempt again after a pause."),
    "check": Part("tui.cli.check_settings_file", "check", "Validate a settings file; every problem is listed."),
    "hooks": Part(
        "tui.cli.hooks_commands.hooks", "hooks", "Plan, apply, remove and check the hooks in the PBS server."
    ),
    "pass": Part("tui.cli.pass_over_torque", "pass_over_torque", "Steer a Torque server from a process outside it."),
    "doctor": Part("tui.cli.doctor.doctor", "doctor", "What is wrong with this installation, and what to do."),
    "simulate": Part("sim.cli.simulate", "simulate", "Replay a workload under one or more policies, and compare."),
    "compare": Part("sim.cli.compare", "compare", "Compare policies on a workload: one table and one picture."),
    "tune": Part("sim.cli.tune", "tune", "Recommend settings from the site's own history."),
    "forecast": Part(
        "sim.cli.forecast_evaluation", "forecast", "How well starts would have been forecast on a workload: --evaluate."
    ),
    "migrate": Part(
        "migration.cli.migrate_check_and_plan",
        "migrate",
        "Jobs that go to other clusters: check the clusters, plan a pass.",
    ),
    "testbed": Part("container.cli", "testbed", "A real PBS server and MoMs on this machine, for trying out."),
}


class Parts(click.Group):
    """A group whose commands are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, imported or not."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command. If that fails, the error names the command and the reason."""
        part = COMMANDS.get(cmd_name)
        if part is None:
            return None
        try:
            command = getattr(importlib.import_module(part.module), part.attribute)
        except (ImportError, AttributeError) as error:
            raise click.ClickException(f"{cmd_name} cannot be loaded: {type(error).__name__}: {error}") from error
        if not isinstance(command, click.Command):
            raise click.ClickException(f"{cmd_name} cannot be loaded: {part.module}.{part.attribute} is no command")
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuses an option of a command that stands before the command's name, and says where it goes."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = next((word for word in args if word in COMMANDS), "")
            if not name:
                raise
            raise click.UsageError(
                f"{error.option_name} goes after the command: pbsteer {name} {error.option_name}", ctx
            ) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command and its arguments, among them the options that were given before its name."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command, rest if command is None else hand_down(ctx, name or "", command, rest)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a server that stops answering meanwhile ends it with one sentence."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            from tui.backends.interface.backend_protocol import BackendError  # noqa: PLC0415 - help goes without it

            if isinstance(error, BackendError):
                raise ServerAwayError(str(error)) from error
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, part.help) for name, part in COMMANDS.items()])


@click.group(cls=Parts, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version, and whether policy is compiled, and exit.",
)
@click.option("--demo", is_flag=True, help="Open the console on a simulated cluster, also where there is a PBS.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --demo: its jobs are those of this trace (SWF, plain or gzipped).",
)
@click.option(
    "--cluster", metavar="NODESxCORES", default="", help="With --trace: the cluster, where the trace does not say it."
)
@click.option("--server", metavar="HOST", default="", help="Look at this PBS server instead of the host's own.")
@settings_option
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with ASCII characters alone.")
@click.option(
    "--theme",
    type=click.Choice(THEME_NAMES),
    help="Its colours; :theme changes and keeps them, NO_COLOR=1 leaves out all.",
)
@click.option("--light", is_flag=True, help="The same as --theme light.")
@click.option(
    "--mouse",
    is_flag=True,
    help="Take the mouse; off, the terminal's own selection works.",
)
@click.option("--interval", type=click.FloatRange(0.2, 3600), help="Seconds between polls. [5, simulated 1]")
@click.pass_context
def main(
    ctx: click.Context,
    *,
    demo: bool,
    trace: Path | None,
    cluster: str,
    server: str,
    settings_path: Path | None,
    ascii_only: bool,
    theme: str | None,
    light: bool,
    mouse: bool,
    interval: float | None,
) -> None:
    """Steer a PBS Professional, OpenPBS or Torque cluster.

    Without a command this opens the console: on this host's PBS or Torque if there is one, else on a simulated cluster,
    and it always says which. The console is read-only until you unlock it with u; ? lists every key.
    """
    if ctx.invoked_subcommand is not None:
        return
    if demo and server:
        raise click.UsageError("--demo and --server: give one of them, not both")
    if (trace and not demo) or (cluster and not trace):
        raise click.UsageError("--trace belongs to --demo, and --cluster to --trace")
    # Textual is imported only where a screen is needed.
    from tui.cli.run_console import run_console  # noqa: PLC0415

    run_console(
        demo=demo,
        trace=trace,
        size=cluster,
        server=server,
        settings_path=settings_path,
        ascii_only=ascii_only,
        theme=theme or ("light" if light else ""),
        mouse=mouse,
        interval_s=interval,
    )


if __name__ == "__main__":
    main()
