"""The root helper's operations: programs by name, and work on files. Each runs as the user, whose own rights bound what
its arguments can reach.

An operation takes its arguments and returns an exit status; one that becomes a program does not return.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Callable

from migration.as_user.helper.private_folder_for_connection import FOLDER, is_own_folder
from migration.as_user.helper.run_in_own_pid_namespace import has_own_namespace
from migration.as_user.user_files import (
    folder_tree_listing,
    place_results_without_overwrite,
    user_files_in_landing_folder,
)

Operation = Callable[[list[str]], int]
KEY = "@KEY@"
"""In the arguments of ``rsync`` and ``ssh``: the path of the private key, with which the operation's input begins."""
CONTROL = "@CONTROL@"
"""The same: the path of the socket of a connection that is there already, or ``none``."""
SHARED_CONNECTION = "shared"
"""In the place of CONTROL, where an operation is to use that connection."""
CONNECT = "connect"
_SOCKET, _HAS_ENDED = f"{FOLDER}/s", f"{FOLDER}/ended"
_LOOK_EVERY_S = 0.02
_BEGUN_WITHIN_S, _CONNECTED_WITHIN_S = 2.0, 20.0
BUILD_LOG = "mg-build.log"
_COMMAND = 3
_SCHEDULER_PROGRAMS = ("qsub", "qdel", "qhold", "qrls", "sbatch", "scancel")
_RUN_BUILD = 'eval "exec 3<&-\n$(cat <&3)"'
"""What the build's shell runs: the command that file 3 has, which no list of processes shows."""
_WAIT_FOR = '"$@"; exit $?'
_CONNECT = 'trap : TERM; ended=$1; shift; "$@"; : > "$ended"'
"""The command that keeps a connection: ssh, which removes its socket when it is ended, and then a file that says so."""
_OF_SCONTROL = ("hold", "release")


def _program(name: str) -> Operation:
    def run(arguments: list[str]) -> int:
        os.execvp(name, [name, *arguments])

    return run


def _scontrol(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in _OF_SCONTROL:
        raise ValueError(f"scontrol: must be followed by {' or '.join(_OF_SCONTROL)}")
    os.execvp("scontrol", ["scontrol", *arguments])


def _rsync(arguments: list[str]) -> int:
    """``rsync BYTES CONTROL ARG...`` over ssh, with a key of that many bytes; what follows it is the list of files, if
    any. CONTROL is ``shared``, or empty.
    """
    os.execvp("rsync", ["rsync", *_with_key(arguments)])


def _ssh(arguments: list[str]) -> int:
    """``ssh BYTES CONTROL ARG...`` with a key of that many bytes; what follows it is the command's input. A shell keeps
    the key open for it.
    """
    os.execvp("/bin/sh", ["sh", "-c", _WAIT_FOR, "sh", "ssh", *_with_key(arguments)])


def _connect(arguments: list[str]) -> int:
    """``connect BYTES ARG...``: a connection that ``rsync`` and ``ssh`` share, until this operation is ended. Each of
    their commands is still one of its own at the other end. The folder of its socket was made by root.
    """
    size, *words = arguments
    if not is_own_folder():
        raise ValueError(f"{FOLDER}: must be a folder of the user's own")
    words = [word.replace(CONTROL, _SOCKET) for word in words]
    os.execvp("/bin/sh", ["sh", "-c", _CONNECT, "sh", _HAS_ENDED, "ssh", *_with_key([size, "", *words])])


def _find_connection(wanted: str) -> str:
    """The socket of the session's connection, once that has been made; ``none`` where it was not."""
    if wanted != SHARED_CONNECTION:
        return "none"
    began_s = time.monotonic()
    while True:
        is_there = is_own_folder()
        if is_there and os.path.exists(_SOCKET):
            return _SOCKET
        waited_s = time.monotonic() - began_s
        if os.path.exists(_HAS_ENDED) or waited_s >= (_CONNECTED_WITHIN_S if is_there else _BEGUN_WITHIN_S):
            return "none"
        time.sleep(_LOOK_EVERY_S)


def _with_key(arguments: list[str]) -> list[str]:
    """The arguments with the path of the socket, and with that of the key, which is a file in the memory of this
    process and never on a disk. ssh closes all files that it inherits, but may open those of this process, by its
    number in what /proc shows here.
    """
    data = os.read(0, int(arguments[0]))
    key = os.memfd_create("key", 0)
    os.fchmod(key, 0o600)
    os.write(key, data)
    os.set_inheritable(key, True)
    path = f"/proc/{os.readlink('/proc/self')}/fd/{key}"
    socket = _find_connection(arguments[1])
    return [word.replace(KEY, path).replace(CONTROL, socket) for word in arguments[2:]]


def _build(arguments: list[str]) -> int:
    """A login shell with the user's own command, which is the operation's input; output goes to the log. ``new`` begins
    the log.
    """
    if arguments not in (["new"], ["more"]):
        raise ValueError("build: must be followed by new or more")
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | (os.O_TRUNC if arguments[0] == "new" else os.O_APPEND)
    log = os.open(BUILD_LOG, flags, 0o600)
    for old, new in ((log, 1), (log, 2), (0, _COMMAND)):
        os.dup2(old, new)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.execvp("nice", ["nice", "-n", "10", "/bin/bash", "-l", "-c", _RUN_BUILD])


def _print_namespace(_: list[str]) -> int:
    """``namespace``: whether operations have one of their own, for ``pbsteer migrate check``."""
    print("own" if has_own_namespace() else "none")  # noqa: T201 - the operation's answer
    return 0


def _rsync_server(arguments: list[str]) -> int:
    """The other end of a transfer: the last argument is the path of the job's folder, or of its stage in it. rsync
    works in the folder as it was opened, so no link that appears meanwhile leads it elsewhere.
    """
    path = arguments[-1].rstrip("/")
    above, _, name = path.rpartition("/")
    if name.startswith(folder_tree_listing.STAGE):
        os.fchdir(folder_tree_listing.open_own_folder(above))
        there = folder_tree_listing.read_entry(name, name)
        if there is not None and there.kind != "d":
            raise ValueError(f"{path}: must be a folder that rsync has made")
        inside = f"./{name}/"
    else:
        os.fchdir(folder_tree_listing.open_own_folder(path))
        inside = "./"
    os.execvp("rsync", ["rsync", *arguments[:-1], inside])


def _rsync_folders(arguments: list[str]) -> int:
    """``rsync-folders JSON ARG...``: the other end for folders side by side, each the user's own. rsync works in the
    folder above as it was opened, and a link that appears in the place of one of them is sent as a link.
    """
    folders = [str(one) for one in json.loads(arguments[0])]
    above = {os.path.dirname(one) for one in folders}
    if len(above) != 1:
        raise ValueError(f"{len(above)} folders above: must be one")
    os.fchdir(folder_tree_listing.open_own_folder(above.pop()))
    for one in folders:
        folder_tree_listing.check_own_folder(one)
    os.execvp("rsync", ["rsync", *arguments[1:], *(f"./{os.path.basename(one)}" for one in folders)])


def _rsync_shared(arguments: list[str]) -> int:
    """``rsync-shared JSON ARG...``: the other end for a shared file, which a survey of the job's folder must name."""
    path = arguments[-1]
    if path not in [one["path"] for one in folder_tree_listing.survey(json.loads(arguments[0]))["shared"]]:
        raise ValueError(f"{path}: is no shared input of the job")
    above, _, name = path.rpartition("/")
    os.fchdir(folder_tree_listing.open_folder(above))
    # rsync sends a link that has taken the file's place as a link, and does not follow it.
    os.execvp("rsync", ["rsync", *arguments[1:-1], f"./{name}"])


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        **{name: _program(name) for name in _SCHEDULER_PROGRAMS},
        "scontrol": _scontrol,
        "rsync": _rsync,
        "rsync-server": _rsync_server,
        "rsync-folders": _rsync_folders,
        "rsync-shared": _rsync_shared,
        "ssh": _ssh,
        CONNECT: _connect,
        "build": _build,
        "namespace": _print_namespace,
        "manifest": folder_tree_listing.print_manifest,
        "state": folder_tree_listing.print_state,
        "survey": folder_tree_listing.print_survey,
        "surveys": folder_tree_listing.print_surveys,
        "settle": place_results_without_overwrite.print_settled,
        "folder": user_files_in_landing_folder.make_folder,
        "space": user_files_in_landing_folder.print_space,
        "write": user_files_in_landing_folder.write_file,
        "read": user_files_in_landing_folder.print_file,
        "place": user_files_in_landing_folder.place_shared,
        "shared": user_files_in_landing_folder.print_shared,
        "links": user_files_in_landing_folder.set_links,
        "remove": user_files_in_landing_folder.remove,
        "unlink": user_files_in_landing_folder.unlink,
    }
)
