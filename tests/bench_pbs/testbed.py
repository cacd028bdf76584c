"""A testbed to measure on: its cluster as the tests have it, and clients that use the server's library."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

from container import testbed as testbeds
from container.hosts.machine_and_host_requirements import find_pbs_exec
from container.testbed_spec import TestbedSpec
from tests.bench_pbs import ifl_client_commanded_by_json_lines
from tests.hooks.deploy_on_testbed import make_deployment
from tests.pbs.cluster import PbsCluster

Attribute = tuple[str, Optional[str], str]
"""An attribute of a job, its resource where it has one, the value."""

_PYTHONS = ("/usr/bin/python3", sys.executable)
_SCRIPT = "#!/bin/sh\nexec /bin/sleep {seconds}\n"


@contextlib.contextmanager
def open_site(moms: int = 3, vnodes: int = 1, cores: int = 8) -> Iterator[PbsCluster]:
    """A testbed of its own, taken down at the end."""
    name = f"pbsb-{os.getpid()}"
    try:
        spec = TestbedSpec(name=name, moms=moms, vnodes=vnodes, cores=cores, pbs_exec=find_pbs_exec(None, os.environ))
        built, _ = testbeds.up(spec)
        yield PbsCluster(built)
    finally:
        testbeds.down(name)


@contextlib.contextmanager
def without_hooks(pbs: PbsCluster) -> Iterator[None]:
    """Whatever is put into the server within is taken out again."""
    try:
        yield
    finally:
        make_deployment(pbs).remove(lambda _: None)
        pbs.reset()


class Caller:
    """A client process on the server's host, as ``user``. Close it when done."""

    def __init__(self, pbs: PbsCluster, user: str | None = None) -> None:
        python = next(python for python in _PYTHONS if Path(python).exists())
        argv = [python, "-I", str(Path(ifl_client_commanded_by_json_lines.__file__).resolve()), pbs.spec.pbs_exec]
        words, environment = testbeds.build_command(pbs.testbed, "server", argv, user=user, cwd=Path("/"))
        self._process = subprocess.Popen(
            words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, want: str, **request: Any) -> dict[str, Any]:
        """One request, and its answer."""
        self.send(want, **request)
        return self.answer()

    def send(self, want: str, **request: Any) -> None:
        """One request, whose answer is fetched later."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"want": want, **request}) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """The answer to what was sent."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the client on the server's host has ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


@contextlib.contextmanager
def calling(pbs: PbsCluster, user: str | None = None) -> Iterator[Caller]:
    """A client for a while."""
    caller = Caller(pbs, user)
    try:
        yield caller
    finally:
        caller.close()


def job_attributes(select: str, walltime: str = "01:00:00", more: Sequence[Attribute] = ()) -> list[Attribute]:
    """A job's attributes."""
    return [
        ("Job_Name", None, "bench"),
        ("Rerunable", None, "True"),
        ("Output_Path", None, "/dev/null"),
        ("Error_Path", None, "/dev/null"),
        ("Resource_List", "select", select),
        ("Resource_List", "walltime", walltime),
        *more,
    ]


def script(pbs: PbsCluster, seconds: int) -> str:
    """A job script that sleeps, where every host can read it."""
    path = pbs.testbed.folder / f"sleep-{seconds}.sh"
    path.write_text(_SCRIPT.format(seconds=seconds))
    path.chmod(0o755)
    return str(path)
