"""The start of the one-file program: unpacks it once for each user and version, then runs it from there.

pbsteer reads its own sources as files, so it cannot run from inside an archive. They are unpacked into ``.cache/pbsteer``
in the user's home as the password database has it: under sudo, ``HOME`` may still be another user's. A folder that
others could have written to is not used; a temporary one, removed at the end, takes its place.
"""

import atexit
import os
import pwd
import shutil
import stat
import sys
import tempfile
import zipfile

DIGEST = "@DIGEST@"
_TOO_OLD = sys.version_info < (3, 9)
_PREFIX = "site-packages/"


def _is_own(path):
    found = os.lstat(path)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _cache():
    """The folder of unpacked versions, made if it is not there; raises OSError where it cannot be trusted."""
    folder = pwd.getpwuid(os.geteuid()).pw_dir
    for name in ("", ".cache", "pbsteer"):
        folder = os.path.join(folder, name) if name else folder
        if name and not os.path.lexists(folder):
            os.mkdir(folder, 0o700)
        if not _is_own(folder):
            raise PermissionError(folder)
    return folder


def _unpack(folder):
    with zipfile.ZipFile(sys.argv[0]) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.startswith(_PREFIX)])


def _find_packages():
    try:
        cache = _cache()
        final = os.path.join(cache, DIGEST)
        if not os.path.lexists(final):
            fresh = tempfile.mkdtemp(prefix=".new-", dir=cache)
            try:
                _unpack(fresh)
                os.rename(fresh, final)
            except OSError:
                shutil.rmtree(fresh, ignore_errors=True)
                if not os.path.lexists(final):
                    raise
        if not _is_own(final):
            raise PermissionError(final)
    except (OSError, KeyError):
        final = tempfile.mkdtemp(prefix="pbsteer-")
        atexit.register(shutil.rmtree, final, True)
        _unpack(final)
    return os.path.join(final, _PREFIX.rstrip("/"))


if _TOO_OLD:
    sys.exit("pbsteer needs Python 3.9 or newer, this is " + sys.version.split()[0])
# Nothing of the archive itself, and nothing that others have put beside it, is imported from here on.
sys.path[0] = _find_packages()
from pbsteer.launch import main  # noqa: E402 - importable only now

main()
