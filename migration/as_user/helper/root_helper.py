"""The root helper, the only program that the service runs as root: becomes a user and does one operation of a fixed
list.

The operation runs in a process that has become the user; this one stays root, and only waits and kills. ``mguser USER
SECONDS BYTES FOLDER OPERATION ARG...`` ends the operation after SECONDS, or when standard input ends.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from migration.as_user.helper.log_operation_to_syslog import log_operation
from migration.as_user.helper.operations_as_user import CONNECT, OPERATIONS
from migration.as_user.helper.private_folder_for_connection import make_folder
from migration.as_user.helper.refused_accounts import find_refusal, read_first_uid
from migration.as_user.helper.root_helper_session import MOST_INPUT, keep_input
from migration.as_user.helper.run_in_own_pid_namespace import end_with_parent, hide_from_users, supervise
from migration.config.cluster_file import ClusterFile, ClusterFileError, Here, Limits
from migration.config.mg_home_folder import HOME
from migration.config.read_cluster_file import read_cluster_file
from migration.programs.program_search_path import find_path

_PRIVATE_MASK = 0o077
_OOM_SCORE = Path("/proc/self/oom_score_adj")
_FIRST_TO_GO = 800
"""On the kernel's scale of 1,000: if memory runs out, it ends operations before the host's services."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9._-]{0,31}\$?")


class RefusedError(Exception):
    """An operation that this helper refuses; the message has the reason."""


def main(words: Sequence[str], given: int | None = None, job: str = "") -> int:
    """The exit status of the operation; 77 if it is refused.

    The first BYTES of standard input are the operation's input; the rest is a lifeline, whose end ends the operation
    and all that it has started. With ``-`` for BYTES the operation has standard input itself. ``given`` is a file with
    the input, if that is no longer on standard input; ``job`` is named in the log. ``mguser session`` does several
    operations (:mod:`migration.as_user.helper.root_helper_session`).
    """
    try:
        return _main(words, given, job)
    except RefusedError as refused:
        log_operation(words, job, str(refused))
        sys.stderr.write(f"mguser: {refused}\n")
        return os.EX_NOPERM


def _main(words: Sequence[str], given: int | None, job: str) -> int:
    if len(words) < 5:
        raise RefusedError("mguser USER SECONDS BYTES FOLDER OPERATION ARG...")
    user, seconds, size, folder, operation, *arguments = words
    file = read_site(HOME)
    account = find_account(user, file)
    if operation not in OPERATIONS:
        raise RefusedError(f"operation {operation!r:.40}: must be one of {', '.join(sorted(OPERATIONS))}")
    limit_s, count = _whole("seconds", seconds, 10**8), 0 if size == "-" else _whole("bytes", size, MOST_INPUT)
    if os.geteuid() not in (0, account.pw_uid):
        raise RefusedError(f"cannot become {account.pw_name!r}: only root can")
    env = _clean_environment(account)
    log_operation(words, job)

    def do_as_user() -> int:
        _bound_operation()
        if operation == CONNECT:
            make_folder(account)
        if operation == "build":
            _limit_build(file.limits if file else Limits())
        _become(account)
        end_with_parent()
        return _do(operation, arguments, folder, env)

    if given is None and size != "-":
        given = _read_input(count)
    if given is not None:
        os.fchown(given, account.pw_uid, -1)
    return supervise(do_as_user, given, limit_s)


def read_site(home: Path) -> ClusterFile | None:
    """The cluster file; None where there is none. Raises :class:`RefusedError` for one with problems.

    It is read as the owner of the folder, who may have put a link to what only root may open in its place.
    """
    try:
        with _as_owner(home):
            return read_cluster_file(home)
    except ClusterFileError as error:
        raise RefusedError(str(error.problems[0])) from error


@contextlib.contextmanager
def _as_owner(folder: Path) -> Iterator[None]:
    """With the owner's rights alone, where this is root and the folder is there."""
    try:
        owner = folder.stat().st_uid
    except OSError:
        owner = os.geteuid()
    root, group, groups = os.geteuid() == 0 != owner, os.getegid(), os.getgroups()
    if root:
        os.setgroups([])
        os.setegid(folder.stat().st_gid)
        os.seteuid(owner)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
            os.setegid(group)
            os.setgroups(groups)


def find_lowest_uid(file: ClusterFile | None) -> int:
    """The smallest user id that this helper becomes: the system's first ordinary one, or a larger one of the site."""
    return max(read_first_uid(), file.here.min_uid) if file else read_first_uid()


def find_account(user: str, file: ClusterFile | None) -> pwd.struct_passwd:
    """The account. Raises :class:`RefusedError` for one that is unknown, of the system or a service, or may do more."""
    if not _NAME.fullmatch(user):
        raise RefusedError(f"user {user!r:.40}: must be the name of an account")
    try:
        account = pwd.getpwnam(user)
    except KeyError:
        raise RefusedError(f"user {user!r}: no such account") from None
    here, always = file.here if file else Here(), Here()
    # The file adds to these and takes none away: the account that writes it must not become root by it.
    here = replace(
        here, refused_groups=(*always.refused_groups, *here.refused_groups),
        refused_accounts=(*always.refused_accounts, *here.refused_accounts),
    )  # fmt: skip
    refusal = find_refusal(account, here, find_lowest_uid(file))
    if refusal:
        raise RefusedError(refusal)
    return account


def _bound_operation() -> None:
    """What holds for every operation: no core dump of what it has read, and little regard where memory runs out."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):
        _OOM_SCORE.write_text(f"{max(_FIRST_TO_GO, int(_OOM_SCORE.read_text('ascii')))}\n", "ascii")


def _limit_build(limits: Limits) -> None:
    """Bound what each process of a build may use; what it could have less of stays so."""
    bounds = (
        (resource.RLIMIT_CPU, limits.build_cpu_s),
        (resource.RLIMIT_NOFILE, limits.build_files),
        (resource.RLIMIT_NPROC, limits.build_processes),
        (resource.RLIMIT_FSIZE, limits.build_file_mib << 20),
        # Memory that is written to, not address space: some compilers and runtimes set very much of that aside.
        (resource.RLIMIT_DATA, limits.build_memory_mib << 20),
    )
    for what, most in bounds:
        hard = resource.getrlimit(what)[1]
        if most and (hard == resource.RLIM_INFINITY or most < hard):
            resource.setrlimit(what, (most, most))


def _whole(name: str, text: str, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) > most:
        raise RefusedError(f"{name} {text!r:.40}: must be a whole number of at most {most}")
    return int(text)


def _become(account: pwd.struct_passwd) -> None:
    """Give up root for good; for root alone another user is possible."""
    if os.geteuid() == 0:
        os.initgroups(account.pw_name, account.pw_gid)
        os.setgid(account.pw_gid)
        os.setuid(account.pw_uid)
    if os.getresuid() != (account.pw_uid,) * 3:
        raise PermissionError(f"cannot become {account.pw_name!r}")
    hide_from_users()
    os.umask(_PRIVATE_MASK)


def _clean_environment(account: pwd.struct_passwd) -> dict[str, str]:
    return {
        "PATH": find_path(),
        "HOME": account.pw_dir,
        "USER": account.pw_name,
        "LOGNAME": account.pw_name,
        "SHELL": account.pw_shell or "/bin/sh",
        "LANG": "C.UTF-8",
    }


def _read_input(count: int) -> int:
    """The operation's input as a file of its own, so that what follows on standard input is the lifeline."""
    try:
        return keep_input(count)
    except ValueError as error:
        raise RefusedError(str(error)) from error


def _do(operation: str, arguments: list[str], folder: str, env: Mapping[str, str]) -> int:
    os.environ.clear()
    os.environ.update(env)
    try:
        os.chdir(folder)
        return OPERATIONS[operation](arguments)
    except OSError as error:
        named = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        sys.stderr.write(f"{operation}: {named}\n")
        return 1
    except ValueError as error:
        sys.stderr.write(f"{operation}: {error}\n")
        return 1
