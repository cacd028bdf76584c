"""A client of the server, run on its host under a Python that has pbs_ifl: one line of JSON asked, one answered.

It submits jobs through the library, so that what is timed is the server's answer and not the start of a program; it
counts jobs by state without reading them; and it pings the server and tells how long the longest answer took.

Usage: PYTHON -I ifl_client_commanded_by_json_lines.py PBS_EXEC
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


class Client:
    """One connection."""

    def __init__(self, pbs_ifl: Any) -> None:
        self._ifl = pbs_ifl
        self._handle = pbs_ifl.pbs_connect(None)
        if self._handle < 0:
            raise SystemExit(f"cannot connect: {pbs_ifl.get_pbs_errno()}")

    def submit(self, request: dict[str, Any]) -> dict[str, Any]:
        """Submit ``count`` jobs with these attributes: the seconds that each took, and the ids."""
        links = []
        chain = None
        for name, resource, value in reversed(request["attributes"]):
            link = self._ifl.attropl()
            link.name, link.resource, link.value, link.op, link.next = name, resource, value, self._ifl.SET, chain
            links.append(link)
            chain = link
        seconds, ids = [], []
        for _ in range(request["count"]):
            begun = time.perf_counter()
            job = self._ifl.pbs_submit(self._handle, chain, request["script"], request["queue"], None)
            seconds.append(time.perf_counter() - begun)
            if not job:
                raise SystemExit(f"not submitted: {self._ifl.pbs_geterrmsg(self._handle)}")
            ids.append(job)
        return {"seconds": seconds, "ids": ids}

    def alter(self, request: dict[str, Any]) -> dict[str, Any]:
        """Give an attribute of each of these jobs a value: the seconds that each took."""
        link = self._ifl.attrl()
        link.name, link.resource, link.value = request["name"], request["resource"], request["value"]
        link.next = None
        return self._each(request["jobs"], lambda job: self._ifl.pbs_alterjob(self._handle, job, link, None))

    def start(self, request: dict[str, Any]) -> dict[str, Any]:
        """Start each of these jobs there: the seconds that each took."""
        where = request["exec_vnode"]
        return self._each(request["jobs"], lambda job: self._ifl.pbs_runjob(self._handle, job, where, None))

    def _each(self, jobs: list[str], ask: Any) -> dict[str, Any]:
        seconds = []
        for job in jobs:
            begun = time.perf_counter()
            if ask(job):
                raise SystemExit(f"{job}: {self._ifl.pbs_geterrmsg(self._handle)}")
            seconds.append(time.perf_counter() - begun)
        return {"seconds": seconds}

    def watch(self, request: dict[str, Any]) -> dict[str, Any]:
        """Ask the server's state counts again and again for so many seconds, or until so many jobs run.

        Tells when the first ran and when the last, counted from the request, how many do, and the latencies.
        """
        begun = time.perf_counter()
        latencies: list[float] = []
        first_s = last_s = None
        running = before = -1
        while time.perf_counter() - begun < request["seconds"]:
            asked = time.perf_counter()
            running = self._count_running()
            now = time.perf_counter()
            latencies.append(now - asked)
            before = running if before < 0 else before
            if running > before:
                first_s = first_s if first_s is not None else now - begun
            if running >= request.get("until", float("inf")):
                last_s = now - begun
                break
            time.sleep(request["pause_s"])
        return {"latencies": latencies, "first_s": first_s, "last_s": last_s, "running": running}

    def wait_for_ends(self, request: dict[str, Any]) -> dict[str, Any]:
        """Wait so many seconds at most until the server has no job that waits, runs or ends."""
        deadline = time.perf_counter() + request["seconds"]
        while time.perf_counter() < deadline:
            if all(word.endswith(":0") for word in self._read_counts().split()):
                return {"ended": True}
            time.sleep(request["pause_s"])
        return {"ended": False}

    def _count_running(self) -> int:
        return int(self._read_counts().partition("Running:")[2].split()[0])

    def _read_counts(self) -> str:
        wanted = self._ifl.attrl()
        wanted.name, wanted.resource, wanted.value, wanted.next = "state_count", None, "", None
        answer = self._ifl.pbs_statserver(self._handle, wanted, None)
        text = str(answer.attribs.value)
        self._ifl.pbs_statfree(answer)
        return text


def main(arguments: list[str]) -> int:
    """Serve standard input until it ends."""
    sys.path.append(str(Path(arguments[0]) / "lib" / "python" / "altair"))
    import pbs_ifl  # type: ignore[import-not-found, unused-ignore]

    client = Client(pbs_ifl)
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(client, request["want"])(request)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
