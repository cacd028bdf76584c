"""A host's own files: a changed copy of /etc, /var/tmp, /var/spool, the scheduler's home, and setuid programs of PBS;
for Torque, which keeps a socket there, also /tmp.

All of them are below the testbed's folder, and are mounted on the hosts over the machine's own.
"""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

from container.hosts.add_users_to_account_files import AccountFiles, add_users
from container.hosts.find_and_enter_running_host import enter_argv, path_on_host
from container.pbs import daemons as pbs_daemons
from container.pbs import pbs_config
from container.run_program import run
from container.slurm import daemons as slurm_daemons
from container.testbed_spec import Host, TestbedSpec
from container.torque import daemons as torque_daemons
from container.torque import torque_config

HOMES = "home"
_SETUID = "setuid"


def pbs_home(folder: Path, host: Host) -> Path:
    """A host's PBS_HOME."""
    return folder / host.name / "pbs_home"


def make_host_files(spec: TestbedSpec, folder: Path, host: Host, pid: int) -> dict[Path, Path]:
    """Make a host's own /etc (a changed copy of the one it sees), /var/tmp, /var/spool and scheduler's home, and for
    Torque its /tmp; returns path on the host -> file.

    The copying runs on the host: it ends with the host, and so never writes into a folder that is being removed.
    """
    place = folder / host.name
    etc, var_tmp, spool = place / "etc", place / "var_tmp", place / "spool"
    place.mkdir(mode=0o755)
    run([*enter_argv(pid), "cp", "-a", "/etc", str(etc)], timeout_s=120.0).demand_success()
    # Settings of a pbsteer on this machine are not those of the testbed.
    shutil.rmtree(etc / "pbsteer", ignore_errors=True)
    var_tmp.mkdir()
    var_tmp.chmod(0o1777)
    spool.mkdir(mode=0o755)
    covers = {Path("/etc"): etc, Path("/var/tmp"): var_tmp, Path("/var/spool"): spool}  # noqa: S108
    if spec.scheduler == "torque":
        # By its name the file would say that this is a host of PBS.
        (etc / "pbs.conf").unlink(missing_ok=True)
    else:
        replace_file(etc / "pbs.conf", pbs_config.write_pbs_conf(spec, host, str(pbs_home(folder, host))))
    replace_file(etc / "hosts", pbs_config.write_hosts(spec))
    replace_file(etc / "hostname", f"{host.name}\n")
    names = ("passwd", "group", "shadow")
    texts = [read_text(etc / name) for name in names]
    files = add_users(AccountFiles(*texts), spec.users, str(folder / HOMES))
    for name, text in zip(names, (files.passwd, files.group, files.shadow)):
        replace_file(etc / name, text)
    if spec.scheduler == "pbs":
        pbs_daemons.lay_out_home(path_on_host(pid, spec.pbs_exec), pbs_home(folder, host), host)
    elif spec.scheduler == "torque":
        torque_daemons.lay_out_home(spec, spool / torque_config.HOME, host)
        tmp = place / "tmp"
        tmp.mkdir()
        tmp.chmod(0o1777)
        covers[Path("/tmp")] = tmp  # noqa: S108
    else:
        slurm_daemons.lay_out_home(spec, folder, host)
    return covers


def make_setuid_copies(installed: Path, spec: TestbedSpec, folder: Path) -> dict[Path, Path]:
    """Make setuid copies of the PBS programs that must be setuid and are not before PBS's postinstall; returns program
    -> copy.

    ``installed``: PBS_EXEC as the machine sees it. The copies are mounted over the programs on the hosts, so that the
    installation itself is unchanged. On the machine, only root can reach the copies.
    """
    copies: dict[Path, Path] = {}
    if spec.scheduler != "pbs":
        return copies
    kept = folder / _SETUID
    kept.mkdir(mode=0o700)
    for name in pbs_daemons.SETUID_PROGRAMS:
        program = installed / name
        if program.is_file() and not program.stat().st_mode & stat.S_ISUID:
            copy = kept / program.name
            shutil.copy(program, copy)
            copy.chmod(0o4755)
            copies[Path(spec.pbs_exec) / name] = copy
    return copies


def read_text(path: Path) -> str:
    """Read a file of a copied /etc, whatever its encoding."""
    return path.read_text(encoding="utf-8", errors="surrogateescape")


def replace_file(path: Path, text: str) -> None:
    """Write a file in a copied /etc, keeping its mode and owner; a symbolic link is replaced, not followed."""
    if path.is_symlink():
        path.unlink()
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
