"""Starts the one-file program: unpacks it once for each user and version, then runs it from there, since pbsteer reads
its own sources as files.

The folder is ``.cache/pbsteer`` of the user's home in the password database, as ``HOME`` under sudo may be another
user's. If others could have written to it, a temporary folder takes its place.
"""

import atexit
import os
import pwd
import shutil
import stat
import sys
import tempfile
import zipfile
from pathlib import Path

DIGEST = "@DIGEST@"
_TOO_OLD = sys.version_info < (3, 9)
_PACKAGES = "site-packages"


def _demand_own(path: Path) -> None:
    """Raises PermissionError unless this is a folder of this user that no other may write to."""
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise PermissionError(str(path))


def _find_cache() -> Path:
    """The folder of unpacked versions, made if it is not there. Raises OSError if it cannot be trusted, and KeyError if
    the user has no account."""
    folder = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    _demand_own(folder)
    for name in (".cache", "pbsteer"):
        folder /= name
        if not os.path.lexists(str(folder)):
            folder.mkdir(0o700, exist_ok=True)
        _demand_own(folder)
    return folder


def _unpack(folder: Path) -> None:
    with zipfile.ZipFile(sys.argv[0]) as archive:
        archive.extractall(str(folder), [name for name in archive.namelist() if name.startswith(_PACKAGES + "/")])


def _unpack_once(final: Path) -> None:
    """Unpack into ``final``, whole or not at all. Raises OSError."""
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=str(final.parent)))
    try:
        _unpack(fresh)
        fresh.rename(final)
    except OSError:
        shutil.rmtree(str(fresh), ignore_errors=True)
        if not final.is_dir():  # another process was first
            raise


def _find_packages() -> Path:
    try:
        final = _find_cache() / DIGEST
        if not final.is_dir():
            _unpack_once(final)
        _demand_own(final)
    except (OSError, KeyError):
        final = Path(tempfile.mkdtemp(prefix="pbsteer-"))
        atexit.register(shutil.rmtree, str(final), ignore_errors=True)
        _unpack(final)
    return final / _PACKAGES


if _TOO_OLD:
    sys.exit("pbsteer needs Python 3.9 or newer, this is " + sys.version.split()[0])
# Nothing of the archive itself, and nothing that others have put beside it, is imported from here on.
sys.path[0] = str(_find_packages())
from pbsteer.launch import main  # noqa: E402 - only now it can be imported

if __name__ == "__main__":
    main()
