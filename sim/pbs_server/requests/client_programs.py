"""PBS's own programs on a simulated server, as far as the console runs them: arguments in, status and output out.

A program's requests go to the simulated server; a refusal has the message that PBS's program prints. Options that are
not simulated are refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Callable

from sim.pbs_server.objects.errors import UNDEFINED_ATTRIBUTE, PbsError
from sim.pbs_server.requests.qmgr import Reply, run_line
from sim.pbs_server.server import SimServer

Do = Callable[[SimServer, str], None]
"""What a program does to one object, given by its name."""


def run_program(server: SimServer, argv: Sequence[str]) -> Reply:
    """Run qmgr -c, qhold, qrls, qdel, qrerun, qmove, qrun -H, or qalter with -p, -l walltime or -W comment."""
    program, *arguments = argv
    if program == "qmgr" and len(arguments) == 2 and arguments[0] == "-c":
        return run_line(server, arguments[1])
    try:
        do, names = _understand(program, arguments)
    except ValueError as error:
        return Reply(ok=False, text=str(error))
    complaints = [complaint for complaint in (_complain(server, do, program, name) for name in names) if complaint]
    return Reply(not complaints, "\n".join(complaints))


def _complain(server: SimServer, do: Do, program: str, name: str) -> str:
    """Apply `do` to one object; returns what the program prints if the server refuses, else an empty text."""
    try:
        do(server, name)
    except PbsError as error:
        return f"{program}: {error.text} {name}"
    return ""


def _understand(program: str, arguments: Sequence[str]) -> tuple[Do, Sequence[str]]:
    """The function to apply, and the names to apply it to; ValueError for what is not simulated."""
    if program in _PLAIN:
        return _PLAIN[program], arguments
    if program == "qmove" and len(arguments) > 1:
        queue = arguments[0]
        return lambda server, job: server.move_job(job, queue), arguments[1:]
    act = _WITH_VALUE.get((program, *arguments[:1])) if len(arguments) > 2 else None
    if act is not None:
        value = arguments[1]
        return lambda server, job: act(server, job, value), arguments[2:]
    raise ValueError(f"{program}: the simulated cluster does not know {' '.join(arguments)!r}")


_PLAIN: Mapping[str, Do] = {
    "qdel": lambda server, job: server.delete_job(job),
    "qrerun": lambda server, job: server.rerun_job(job),
}


def _alter(server: SimServer, job: str, value: str, prefix: str = "") -> None:
    """Set one attribute from ``name=value``."""
    name, _, text = value.partition("=")
    if prefix + name not in _ALTERED:
        raise PbsError(UNDEFINED_ATTRIBUTE, name)
    server.alter_job(job, {prefix + name: text})


_ALTERED = frozenset({"Resource_List.walltime", "comment"})
_WITH_VALUE: Mapping[tuple[str, ...], Callable[[SimServer, str, str], None]] = {
    ("qhold", "-h"): lambda server, job, holds: server.hold_job(job, holds),
    ("qrls", "-h"): lambda server, job, holds: server.release_job(job, holds),
    ("qrun", "-H"): lambda server, job, exec_vnode: server.run_job(job, exec_vnode),
    ("qalter", "-p"): lambda server, job, number: server.alter_job(job, {"Priority": number}),
    ("qalter", "-l"): lambda server, job, value: _alter(server, job, value, "Resource_List."),
    ("qalter", "-W"): _alter,
}
