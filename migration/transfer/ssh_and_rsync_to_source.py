"""The connection to a job's source: ssh and rsync as the job's user, with the key made for this one job.

Remote paths are names that the source resolves with its own record: ``job/``, ``stage/``, ``shared/PATH``. So a remote
command contains no path of a user's but that of a shared file, percent-encoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Callable
from urllib.parse import quote

from migration.as_user.helper.operations_as_user import CONNECT, CONTROL, KEY, SHARED_CONNECTION
from migration.as_user.helper.root_helper_session import NOTHING
from migration.as_user.user_files.folder_tree_listing import PART, STAGE
from migration.programs.run_external_program_with_limits import STOPPED, TIMED_OUT, Finished
from migration.transfer.words_for_paths_at_source import JOB, NO_SETUID, SHARED

BY_CONTENT = ("--checksum",)
"""For :meth:`Connection.find_unlike`: files of the same size and time are read, and differ where their content does."""
RunAs = Callable[..., Finished]
"""``run_as``, which also takes ``stopped``."""

_SSH_CONFIG = Path("/etc/ssh/ssh_config")
_CONNECTED_FOR_S = 86_400
_IO_TIMEOUT_S = 120
_ASK_TIMEOUT_S = 3600
_NO_SPACE = re.compile("No space left on device|Disk quota exceeded|File too large")
_TOTAL = re.compile(r"^Total bytes (sent|received): ([0-9,.]+)$", re.MULTILINE)
_VANISHED = 24
"""rsync's exit status where files were removed at the source while it ran."""


class TransferError(Exception):
    """A transfer that did not finish. It may be tried again; the message is for the user."""


class NoSpaceError(TransferError):
    """The receiving side has no room."""


class StoppedError(Exception):
    """The user has stopped the job meanwhile."""


@dataclass
class Connection:
    """``user`` is the account here, ``ssh`` the source's address, ``key`` the private key's text.

    The first command opens a connection that all share until :meth:`close`. Where none can be shared, each has its own.
    """

    run: RunAs
    user: str
    ssh: str
    key: bytes
    bwlimit_kib: int = 0
    stopped: Callable[[], bool] = lambda: False
    _control: str | None = None

    def _open(self) -> str:
        """Whether commands share a connection, as operations have it; empty if they do not."""
        if self._control is None:
            argv = [CONNECT, str(len(self.key)), "-N", "-o", "ControlMaster=yes", *ssh_options(), "-T", self.ssh]
            done = self.run(argv, user=self.user, stdin=self.key, timeout_s=_CONNECTED_FOR_S, aside=True)
            self._control = "" if done.status else SHARED_CONNECTION
        return self._control

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._control:
            self.run([NOTHING], user=self.user, aside=True)
        self._control = None

    def ask(self, verb: str, lines: Iterable[str] = ()) -> bytes:
        """What the source answers to ``mg VERB``. Raises :class:`TransferError`."""
        data = self.key + "".join(f"{line}\n" for line in lines).encode("ascii")
        options = ["-o", "ControlMaster=no", *ssh_options(), "-T"]
        argv = ["ssh", str(len(self.key)), self._open(), *options, self.ssh, f"mg {verb}"]
        done = self.run(argv, user=self.user, stdin=data, timeout_s=_ASK_TIMEOUT_S, stopped=self.stopped)
        _check(done, f"mg {verb}")
        return done.out

    def fetch(self, word: str, folder: str, timeout_s: float, exclude: Sequence[str] = (), name: str = "") -> int:
        """Copy from the source into a folder that is there, to ``name`` in it; returns the bytes that came. Raises
        :class:`TransferError`.
        """
        return self._fetch([word], folder, timeout_s, (f"/{STAGE}*", *exclude), name)

    def fetch_folders(self, names: Mapping[str, str], folder: str, timeout_s: float) -> int:
        """Copy jobs' folders that are side by side at the source, their names by the job's id, into a folder that is
        there; returns the bytes that came. Raises :class:`TransferError`.
        """
        return self._fetch([f"{JOB}{gid}/{name}" for gid, name in names.items()], folder, timeout_s, (f"/*/{STAGE}*",))

    def _fetch(
        self, words: Sequence[str], folder: str, timeout_s: float, exclude: Sequence[str], name: str = ""
    ) -> int:
        first, *others = words
        sources = [f"{self.ssh}:{first}", *(f":{word}" for word in others)]
        # Of --exclude the pattern "+ x" would be an include, and "!" would end all of them.
        options = [f"--chmod={NO_SETUID}", *(f"--filter=- {pattern}" for pattern in exclude if pattern)]
        done = self._rsync([*options, *sources, f"./{name}"], timeout_s, folder=folder)
        _check(done, "rsync", allowed=(0, _VANISHED))
        return _total(done, "received")

    def push(self, folder: str, paths: Iterable[str], word: str, timeout_s: float) -> int:
        """Copy these paths of a folder to the source; returns the bytes that went. Raises :class:`TransferError`."""
        done = self._rsync(["--files-from=-", "--from0", f"{folder}/", f"{self.ssh}:{word}"], timeout_s, paths)
        _check(done, "rsync")
        return _total(done, "sent")

    def find_unlike(
        self, folder: str, paths: Iterable[str], timeout_s: float, options: Sequence[str] = ()
    ) -> list[str]:
        """What a copy of these paths into the job's folder would still have to do; empty proves that they are there."""
        argv = ["--dry-run", "--itemize-changes", *options, "--files-from=-", "--from0"]
        done = self._rsync([*argv, f"{folder}/", f"{self.ssh}:{JOB}"], timeout_s, paths)
        _check(done, "rsync")
        return [line for line in done.text.splitlines() if line[:2] in ("<f", "cL", "cd", "hf")]

    def _rsync(
        self, words: Sequence[str], timeout_s: float, paths: Iterable[str] = (), folder: str | None = None
    ) -> Finished:
        """In a folder rsync works there, and makes none in the place of one that is removed meanwhile.

        Each path is sent as ``/PATH``, relative to the folder all the same: rsync takes what begins with ``#`` or ``;``
        for a comment. For ``./PATH`` it would also give the folder's own mode and time to the one at the source.
        """
        argv = ["rsync", str(len(self.key)), self._open(), "-a", f"--partial-dir={PART}"]
        argv += [f"--timeout={_IO_TIMEOUT_S}", "--stats"]
        if self.bwlimit_kib:
            argv.append(f"--bwlimit={self.bwlimit_kib}")
        argv += ["-e", " ".join(["ssh", "-o", "ControlMaster=no", *ssh_options()]), *words]
        data = self.key + b"".join(b"/" + path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
        return self.run(argv, user=self.user, cwd=folder, stdin=data, timeout_s=timeout_s, stopped=self.stopped)


def ssh_options() -> list[str]:
    """Options of ssh: the system's configuration and host keys, and this one key; nothing of the user's own."""
    config = str(_SSH_CONFIG) if _SSH_CONFIG.exists() else "none"
    settings = (
        "BatchMode=yes", "StrictHostKeyChecking=yes", "UserKnownHostsFile=/dev/null", "IdentitiesOnly=yes",
        "IdentityAgent=none", "ConnectTimeout=10", "ServerAliveInterval=30", "ForwardAgent=no",
        f"ControlPath={CONTROL}", "ControlPersist=no",
    )  # fmt: skip
    return ["-F", config, "-i", KEY, *(word for one in settings for word in ("-o", one))]


def shared_word(path: str) -> str:
    """The remote word for a shared file."""
    return SHARED + quote(path.encode("utf-8", "surrogateescape"), safe="/")


def _check(done: Finished, what: str, allowed: Sequence[int] = (0,)) -> None:
    if done.status == STOPPED:
        raise StoppedError
    if done.status in allowed:
        return
    cause = _cause(done)
    text = cause if cause.startswith(f"{what}:") else f"{what}: {cause}"
    if _NO_SPACE.search(done.err.decode("utf-8", "replace")):
        raise NoSpaceError(text)
    raise TransferError(text)


def _cause(done: Finished) -> str:
    """The first line of the program's errors, which names the cause; rsync's last line names only the place in its
    code. For one that was ended at its time limit that limit is the cause."""
    if done.status == TIMED_OUT:
        return done.problem
    text = done.err.decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("Warning:")]
    shown = lines[0] if lines else done.problem
    return "".join(letter if letter.isprintable() else "?" for letter in shown)[:300]


def _total(done: Finished, way: str) -> int:
    for match in _TOTAL.finditer(done.text):
        if match[1] == way:
            return int(re.sub(r"\D", "", match[2]))
    return 0
