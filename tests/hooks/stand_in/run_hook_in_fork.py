"""Run hooks on request, each in a fork of this process, which has loaded nothing but modules of the standard library.

Usage: python -I -S -OO run_hook_in_fork.py. Each line on standard input is a request, as JSON: the arguments of
``run_hook.py``, the environment, and the files for what it prints. The answer is a line with its exit status. What one
fork has compiled, the next ones take: the same text is the same code.
"""

from __future__ import annotations

import builtins
import json
import marshal
import os
import runpy
import sys
from pathlib import Path
from types import CodeType
from typing import Any

# What nearly every hook imports.
for _name in ("dataclasses", "datetime", "fcntl", "hashlib", "heapq", "shutil", "socket", "subprocess", "tempfile"):
    __import__(_name)

_RUNNER = Path(__file__).with_name("run_hook.py")
_COMPILE = builtins.compile
_CODES: dict[tuple[str, str], CodeType] = {}
_NEW: dict[tuple[str, str], CodeType] = {}


def compile_once(source: Any, filename: Any, mode: str, *more: Any, **named: Any) -> Any:
    """The function ``compile`` of forks; what another fork has compiled comes from there."""
    if mode != "exec" or more or named or not isinstance(source, str):
        return _COMPILE(source, filename, mode, *more, **named)
    key = (source, filename)
    if key not in _CODES:
        _CODES[key] = _NEW[key] = _COMPILE(source, filename, mode, dont_inherit=True)
    return _CODES[key]


def run_in_fork(request: dict[str, Any]) -> int:
    """The exit status of one run, in the process that serves."""
    readable, writable = os.pipe()
    fork = os.fork()
    if not fork:
        os.close(readable)
        run(request, writable)
    os.close(writable)
    with os.fdopen(readable, "rb") as pipe:
        compiled = pipe.read()
    _, ended = os.waitpid(fork, 0)
    if compiled:
        _CODES.update(marshal.loads(compiled))  # noqa: S302 - from our own fork
    return os.waitstatus_to_exitcode(ended)


def run(request: dict[str, Any], compiled: int) -> None:
    """Run the hook in this process, which ends with it; tell the one that serves what was compiled for it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, path in ((0, os.devnull), (1, request["stdout"]), (2, request["stderr"])):
        os.dup2(os.open(path, flags if number else os.O_RDONLY), number)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = [str(_RUNNER), *request["arguments"]]
    builtins.compile = compile_once
    try:
        runpy.run_path(str(_RUNNER), run_name="__main__")
    finally:
        with os.fdopen(compiled, "wb") as pipe:
            pipe.write(marshal.dumps(_NEW) if _NEW else b"")
    sys.exit()


def main() -> None:
    for line in sys.stdin:
        status = run_in_fork(json.loads(line))
        sys.stdout.write(f"{status}\n")
        sys.stdout.flush()


main()
