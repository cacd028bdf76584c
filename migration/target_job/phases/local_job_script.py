"""Makes the local job of a migrating job's program: its folder, its files, and the script that it runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from migration.as_user.helper.operations_as_user import BUILD_LOG
from migration.schedulers.scheduler_interface import LocalJob
from migration.transfer.upload_manifest_and_changed_files import outputs, service_prefix
from policy.migration.job_record_and_copy_updates import Record

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def script_path(record: Record) -> str:
    """The script, in the job's folder: it runs on a compute node, as the user."""
    return f"{record.dstdir}/{service_prefix(record.gid)}sh"


def exit_path(record: Record) -> str:
    """The file in which the script leaves the program's exit status."""
    return f"{record.dstdir}/{service_prefix(record.gid)}exit"


def make_local_job(record: Record) -> LocalJob:
    """The job as the local scheduler takes it."""
    out, err = outputs(record.gid)
    folder = record.dstdir
    return LocalJob(
        record.local_name, record.account, record.demand, folder, script_path(record), f"{folder}/{out}",
        f"{folder}/{err}",
    )  # fmt: skip


def write_script(record: Record, build: Sequence[str] = ()) -> str:
    """The script's text. The end is known even where the scheduler has forgotten the job; USR2, with which a job is
    asked to save, is the program's. ``build`` are commands that run in the job, before the program.
    """
    exit_file = shlex.quote(exit_path(record))
    exports = [_export(one) for one in record.env]
    builds = [f"/bin/bash -l -c {shlex.quote(one)} >> {BUILD_LOG} 2>&1" for one in build]
    return "\n".join(
        [
            "#!/bin/sh",
            f"# Job {record.gid}: runs its program, and leaves the exit status.",
            f"cd {shlex.quote(record.dstdir)} || exit 127",
            f"rm -f {exit_file}",
            "trap : USR2",
            *exports,
            " && ".join([*builds, f"{_program(record)} {' '.join(map(shlex.quote, record.args))}"]),
            "status=$?",
            f'echo "$status" > {exit_file}.new && mv -f {exit_file}.new {exit_file}',
            'exit "$status"',
            "",
        ]
    )


def _program(record: Record) -> str:
    """The program in the job's folder here, wherever it stood at the source. A bare name is looked for there first, and
    a folder of that name is no program.
    """
    inside = f"{record.dir}/"
    name = record.prog[len(inside) :] if record.prog.startswith(inside) else record.prog
    if name.startswith("/"):
        return shlex.quote(name)
    if "/" in name or record.prog.startswith(inside):
        return shlex.quote(f"./{name}")
    inside_here = shlex.quote(f"./{name}")
    return f'"$([ -f {inside_here} ] && [ -x {inside_here} ] && echo ./)"{shlex.quote(name)}'


def _export(setting: str) -> str:
    name, _, value = setting.partition("=")
    if not _NAME.fullmatch(name):
        raise ValueError(f"environment {setting!r:.60}: must be NAME=VALUE")
    return f"export {name}={shlex.quote(value)}"
