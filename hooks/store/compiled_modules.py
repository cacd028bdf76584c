"""The compiled modules of the pass, on disk for the next one: PBS makes a process for each pass, and most of its
processor time would go into compiling.

The file is used only if it is root's alone, for the same sources and the same Python, and whole; otherwise the modules
are compiled and the file is replaced. It is as trusted as the hook's own text, which PBS has in a folder of root's too.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import stat
import sys
from collections.abc import Mapping
from importlib.util import MAGIC_NUMBER
from types import CodeType

from hooks.store.atomic_file import replace_file
from hooks.store.state_folder import state_folder

COMPILED = "compiled-pass"
_MOST_BYTES = 64 << 20
_CHECKSUM_BYTES = hashlib.sha256().digest_size


def read_compiled(pbs_home: str, sources: Mapping[str, str]) -> dict[str, CodeType]:
    """The code of each module by name; empty if the file cannot be used. ``sources`` are the modules' texts by name."""
    try:
        descriptor = os.open(
            state_folder(pbs_home) / COMPILED, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
    except OSError:
        return {}
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o077:
            return {}
        data = os.read(descriptor, min(about.st_size, _MOST_BYTES))
    except OSError:
        return {}
    finally:
        os.close(descriptor)
    head = _head(sources)
    begin = len(head) + _CHECKSUM_BYTES
    payload = memoryview(data)[begin:]
    # Data that was changed can end the interpreter: its checksum comes before it is read.
    if data[: len(head)] != head or hashlib.sha256(payload).digest() != data[len(head) : begin]:
        return {}
    try:
        codes = marshal.loads(payload)  # noqa: S302 - root's own file, whose checksum is right
    except (ValueError, EOFError, TypeError):
        return {}
    if not isinstance(codes, dict) or not all(isinstance(code, CodeType) for code in codes.values()):
        return {}
    return codes


def write_compiled(pbs_home: str, sources: Mapping[str, str], codes: Mapping[str, CodeType]) -> None:
    """Replace the file. Raises OSError; the folder has to be there."""
    payload = marshal.dumps(dict(codes))
    data = _head(sources) + hashlib.sha256(payload).digest() + payload
    replace_file(state_folder(pbs_home) / COMPILED, data, sync=False)


def _head(sources: Mapping[str, str]) -> bytes:
    """What the file begins with: the Python that compiled it, how, and from which texts: a hook that was edited in
    place is run as it is."""
    texts = hashlib.sha256("\0".join(part for source in sources.items() for part in source).encode("utf-8"))
    return b"pbsteer-compiled " + MAGIC_NUMBER + f" {sys.flags.optimize} {texts.hexdigest()}\n".encode("ascii")
