"""A running PBS testbed as tests speak to it: submit, look, change, wait, and put everything back as it was.

Commands are argument lists and scripts go in by standard input, so any job name a test invents arrives as it is.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Callable, Union

from container import testbed as testbeds
from container.run_program import Finished
from container.testbed import Testbed
from tests.logs_of_failed_real_test import end_of
from tests.pbs.idle_machine_deadline import Deadline

Command = Union[str, Sequence[str]]
"""A job's script, or the program and its arguments."""

Setting = tuple[str, str]
"""An object as qmgr names it ("queue workq", "server") and one of its attributes."""


class PbsCluster:
    """One testbed under test. Jobs are named by the ids that qsub prints, hosts ``server``, ``m1``, ``m2``, ..."""

    def __init__(self, testbed: Testbed) -> None:
        self.testbed = testbed
        self.spec = testbed.spec
        self.server_home = testbed.pbs_home(testbed.spec.server)
        # A mail for each job that is deleted, to a user who is nowhere. Older PBS has no such attribute.
        self.run(["qmgr", "-c", "set server mailer = /bin/true"])
        self._clean_settings = self._read_settings()
        self._clean_home = set(self.server_home.iterdir())
        self._clean_mom_hooks = self._list_mom_hooks()

    @property
    def mom_names(self) -> list[str]:
        return [mom.name for mom in self.spec.mom_hosts]

    def run(
        self, argv: Sequence[str], *, host: str = "server", user: str | None = None, stdin: str = "",
        timeout_s: float = 120.0,
    ) -> Finished:  # fmt: skip
        """Run a command on a host to its end, whatever its exit status."""
        return testbeds.run_on(self.testbed, host, argv, user=user, stdin=stdin, timeout_s=timeout_s)

    def qsub(
        self, user: str, command: Command = ("/bin/sleep", "600"), *, select: str | None = "1:ncpus=1",
        walltime: str | None = "00:10:00", queue: str | None = None, name: str | None = None,
        options: Sequence[str] = (),
    ) -> str:  # fmt: skip
        """Submit a job and return its id; `TestbedError` with qsub's words if PBS refuses it."""
        done = self.try_qsub(user, command, select=select, walltime=walltime, queue=queue, name=name, options=options)
        return done.demand_success().stdout.strip()

    def try_qsub(
        self, user: str, command: Command = ("/bin/sleep", "600"), *, select: str | None = "1:ncpus=1",
        walltime: str | None = "00:10:00", queue: str | None = None, name: str | None = None,
        options: Sequence[str] = (),
    ) -> Finished:  # fmt: skip
        """Submit a job and return what qsub said, refused or not."""
        argv = ["qsub", "-f"]
        for option, value in (("-q", queue), ("-N", name)):
            argv += [option, value] if value is not None else []
        for resource, value in (("select", select), ("walltime", walltime)):
            argv += ["-l", f"{resource}={value}"] if value is not None else []
        argv += options
        if isinstance(command, str):
            return self.run(argv, user=user, stdin=command)
        return self.run([*argv, "--", *command], user=user)

    def wait_for_refusal(self, user: str, **asked: Any) -> str:
        """What qsub said as it refused the job. After a slow look at the vnodes the hook lets jobs through for a while,
        and a machine with other work to do makes any look slow; such jobs are deleted again."""
        messages: list[str] = []

        def is_refused() -> bool:
            done = self.try_qsub(user, **asked)
            if not done.status:
                self.run(["qdel", "-W", "force", "-x", done.stdout.strip()])
                return False
            messages.append(done.stderr)
            return True

        self.wait_until(is_refused, 120.0, f"qsub refuses {asked}")
        return messages[0]

    def qstat_json(self) -> dict[str, dict[str, Any]]:
        """All jobs with all attributes, ended ones and subjobs too: job id -> attributes."""
        answer = self.run(["qstat", "-x", "-t", "-f", "-F", "json"]).demand_success()
        jobs: dict[str, dict[str, Any]] = json.loads(answer.stdout, strict=False).get("Jobs", {})
        return jobs

    def job(self, job_id: str) -> dict[str, Any]:
        """One job's attributes, also after its end."""
        answer = self.run(["qstat", "-x", "-f", "-F", "json", job_id]).demand_success()
        attributes: dict[str, Any] = json.loads(answer.stdout, strict=False)["Jobs"][job_id]
        return attributes

    def job_state(self, job_id: str) -> str:
        """One letter: Q, R, H, W, S, E, B, or F after its end."""
        return str(self.job(job_id)["job_state"])

    def wait_for_state(self, job_id: str, states: str, timeout_s: float = 120.0) -> dict[str, Any]:
        """Wait until the job is in one of ``states`` ("RF": running or ended) and return its attributes."""
        self.wait_until(lambda: self.job_state(job_id) in states, timeout_s, f"job {job_id} in state {states}")
        return self.job(job_id)

    def read_output(self, user: str, job_id: str, name: str = "STDIN") -> str:
        """What an ended job wrote to its standard output, from the user's home."""
        return self._output_path(user, job_id, name).read_text(encoding="utf-8", errors="replace")

    def qmgr(self, *commands: str) -> str:
        """Run qmgr commands as root on the server host; `TestbedError` with qmgr's words if one fails."""
        return "".join(self.run(["qmgr", "-c", command]).demand_success().stdout for command in commands)

    def _qmgr_at_once(self, commands: Sequence[str]) -> str:
        """Run many qmgr commands in one process; `TestbedError` if one fails."""
        if not commands:
            return ""
        return self.run(["qmgr"], stdin="".join(f"{command}\n" for command in commands)).demand_success().stdout

    def pbsnodes(self) -> dict[str, dict[str, Any]]:
        """All vnodes: name -> attributes."""
        answer = self.run(["pbsnodes", "-a", "-v", "-F", "json"]).demand_success()
        nodes: dict[str, dict[str, Any]] = json.loads(answer.stdout, strict=False)["nodes"]
        return nodes

    def server_log(self) -> str:
        """The server's log since the testbed came up or was put back."""
        logs = sorted((self.server_home / "server_logs").iterdir())
        return "".join(log.read_text(encoding="utf-8", errors="replace") for log in logs)

    def mom_log(self) -> str:
        """All MoMs' logs since the testbed came up."""
        homes = [self.testbed.pbs_home(host) for host in self.spec.mom_hosts]
        logs = sorted(log for home in homes for log in (home / "mom_logs").iterdir())
        return "".join(log.read_text(encoding="utf-8", errors="replace") for log in logs)

    def wait_until(self, predicate: Callable[[], object], timeout_s: float, what: str) -> None:
        """Return when ``predicate`` holds; an AssertionError that says ``what`` was awaited if it does not in time."""
        deadline = Deadline(timeout_s)
        pause_s = 0.1
        while not predicate():
            if deadline.has_passed():
                raise AssertionError(f"waited {timeout_s:g} s in vain for: {what}")
            time.sleep(pause_s)
            # Each look is a program or two on the host: long waits look less often.
            pause_s = min(1.4 * pause_s, 0.5)

    def stop_server(self) -> None:
        testbeds.stop_server(self.testbed)

    def start_server(self) -> None:
        testbeds.start_server(self.testbed)

    def restart_clean_server(self) -> None:
        """Stop the server, start it, and take away what MoMs tell it of the hooks of earlier tests.

        A server that starts counts anew what its jobs have: one that deleted a job by force may count it for ever."""
        self.stop_server()
        self.start_server()
        self.wait_until(self._have_reported, 120.0, "all vnodes have reported")
        self.wait_until(self._has_clean_settings, 120.0, "the server's settings are those that it came up with")

    def kill_server(self) -> None:
        """End pbs_server at once, as a crash would, and leave its data store; returns when it has ended."""
        self.signal_server("KILL")
        self.wait_until(lambda: not self._server_processes(), 120.0, "the end of the server that was killed")

    def signal_server(self, signal: str) -> None:
        """Send pbs_server a signal, such as STOP."""
        self.run(["kill", f"-{signal}", *self._server_processes()]).demand_success()

    def _server_processes(self) -> list[str]:
        return self.run(["pgrep", "-x", "pbs_server.bin"]).stdout.split()

    def reset(self) -> None:
        """Put the testbed back as it came up: no jobs nor history, only PBS's own hooks, settings, vnodes and files."""
        if self.run(["qstat", "-B"], timeout_s=60.0).status != 0:
            self.start_server()
            # A MoM tells a server that starts what hooks told the MoM, whether these hooks are there or not.
            self.wait_until(self._have_reported, 120.0, "all vnodes have reported")
        self._replace_scheduler_without_connection()
        settings = self._read_settings()
        self._delete_new(settings, "hook")
        self._delete_jobs()
        self.wait_until(self._have_no_reservations, 120.0, "no reservation is left")
        self._wait_for_moms_without_hooks()
        self.wait_until(self._run_no_hook, 120.0, "no MoM runs a hook")
        self.wait_until(self._has_clean_settings, 120.0, "the server's settings are those that it came up with")
        for path in set(self.server_home.iterdir()) - self._clean_home:
            self.wait_until(partial(_remove, path), 60.0, f"{path} removed, to which a pass may still write")
        for log in (self.server_home / "server_logs").iterdir():
            # What earlier tests made hooks complain of is no trouble of this one's.
            os.truncate(log, 0)
        for vnode, attributes in self.pbsnodes().items():
            if "offline" in attributes["state"]:
                self.run(["pbsnodes", "-r", vnode]).demand_success()
            if "comment" in attributes:
                self.run(["pbsnodes", "-C", "", vnode]).demand_success()
        self.wait_until(self._is_idle, 180.0, "all vnodes free and without jobs")

    def _replace_scheduler_without_connection(self) -> None:
        """Start PBS's scheduler anew if its last cycle could read nothing: one that lost its connection while the
        server was restarted may never get it back (OpenPBS 23.06), and no later test's jobs would start."""
        logs = sorted((self.server_home / "sched_logs").iterdir())
        if logs and "Problem with creating server data structure" in end_of(logs[-1], lines=2):
            self.run(["pkill", "-x", "pbs_sched"]).demand_success()
            self.wait_until(lambda: self.run(["pgrep", "-x", "pbs_sched"]).status != 0, 60.0, "the scheduler's end")
            self.run([f"{self.spec.pbs_exec}/sbin/pbs_sched"]).demand_success()

    def _delete_jobs(self) -> None:
        def are_gone() -> bool:
            # A job that is just ending, or just starting, may refuse to be deleted: it is asked again.
            # Where the server keeps no history, nothing at all is listed with it.
            lists = (self.run(argv).demand_success().stdout.split() for argv in (["qselect"], ["qselect", "-x"]))
            ids = list(dict.fromkeys(job_id for ids in lists for job_id in ids))
            for first in range(0, len(ids), 100):
                self.run(["qdel", "-W", "force", "-x", *ids[first : first + 100]])
            return not ids

        self.wait_until(are_gone, 180.0, "no jobs left")

    def _have_no_reservations(self) -> bool:
        """Whether there is none; those that there are, of whatever user and state, are deleted."""
        listed = self.run(["pbs_rstat", "-F"]).demand_success().stdout.splitlines()
        names = [line.split()[-1] for line in listed if line.startswith(("Resv ID:", "Name:"))]
        for name in names:
            self.run(["pbs_rdel", name])
        return not names

    def _wait_for_moms_without_hooks(self) -> None:
        """On a busy machine a server may count a deletion as sent that a MoM never got: then it is done by hand."""
        deadline = Deadline(60.0)
        while self._list_mom_hooks() != self._clean_mom_hooks and not deadline.has_passed():
            time.sleep(0.2)
        for path in self._list_mom_hooks() - self._clean_mom_hooks:
            for file in path.parent.glob(f"{path.stem}.*"):
                file.unlink(missing_ok=True)
            for host in self.spec.mom_hosts:
                if self.testbed.pbs_home(host) in path.parents:
                    self.run(["pkill", "-HUP", "-x", "pbs_mom"], host=host.name).demand_success()
        self.wait_until(
            lambda: self._list_mom_hooks() == self._clean_mom_hooks, 120.0, "the MoMs have no hooks of ours"
        )

    def _list_mom_hooks(self) -> set[Path]:
        """The hooks that the MoMs have copies of: those of a MoM report to the server until they are deleted there."""
        homes = [self.testbed.pbs_home(host) for host in self.spec.mom_hosts]
        return {path for home in homes for path in (home / "mom_priv" / "hooks").glob("*.HK")}

    def _has_clean_settings(self) -> bool:
        """Whether nothing differs any more; what does is put back. A report under way may set a resource once more."""
        settings = self._read_settings()
        if sorted(settings) == sorted(self._clean_settings):
            return True
        self._restore_settings(settings)
        for kind in ("queue", "sched", "resource"):
            self._delete_new(settings, kind)
        return False

    def _delete_new(self, settings: list[str], kind: str) -> None:
        new = [line for line in settings if line.startswith(f"create {kind} ") and line not in self._clean_settings]
        self._qmgr_at_once([f"delete {kind} {line.split()[2]}" for line in new])

    def _restore_settings(self, settings: list[str]) -> None:
        """Unset what was set since, and set again what has changed or gone."""
        changed = {
            _split_setting(line) for line in set(settings) ^ set(self._clean_settings) if line.startswith("set ")
        }
        new_objects = tuple(
            line[7:] for line in settings if line.startswith("create ") and line not in self._clean_settings
        )
        clean = {_split_setting(line) for line in self._clean_settings if line.startswith("set ")}
        # An amount that another vnode counts goes before that vnode's own, which is in use till then.
        lent = {_split_setting(line) for line in settings if " = @" in line}
        unset = sorted(changed - clean, key=lambda setting: (setting not in lent, setting))
        self._qmgr_at_once([f"unset {target} {name}" for target, name in unset if target not in new_objects])
        self._qmgr_at_once(
            [line for line in self._clean_settings if line.startswith("set ") and _split_setting(line) in changed]
        )

    def _read_settings(self) -> list[str]:
        """The qmgr lines that make server, queues, vnodes, schedulers, resources and hooks, but for vnodes' states."""
        asked = ("print server", "print node @default", "list sched", "list hook")
        printed = self._qmgr_at_once(asked).splitlines()
        lines = [line for line in printed if line.startswith(("set ", "create ")) and " state = " not in line]
        listed = ""
        for line in printed:
            if line.startswith(("Sched ", "Hook ")):
                kind, listed = line.split()
                lines.append(f"create {kind.lower()} {listed}")
            elif listed == "default" and line.strip().startswith("scheduling = "):
                lines.append(f"set sched default {line.strip()}")
        return lines

    def _run_no_hook(self) -> bool:
        """Whether no MoM's hook is under way: it would report once more."""
        running = [self.run(["pgrep", "-f", "pbs_python --hook"], host=mom).status == 0 for mom in self.mom_names]
        return not any(running)

    def _have_reported(self) -> bool:
        vnodes = self.pbsnodes().values()
        return all("down" not in vnode["state"] and "arch" in vnode["resources_available"] for vnode in vnodes)

    def _is_idle(self) -> bool:
        vnodes = self.pbsnodes().values()
        return all(vnode["state"] == "free" and not vnode.get("jobs") for vnode in vnodes)

    def _output_path(self, user: str, job_id: str, name: str) -> Path:
        return self.testbed.home(user) / f"{name}.o{job_id.partition('.')[0]}"


def _remove(path: Path) -> bool:
    """Remove a file or folder; whether it is gone."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()
    return not path.exists()


def _split_setting(line: str) -> Setting:
    """("queue workq", "max_run") of "set queue workq max_run = [u:alice=2]"."""
    words = line.split()
    if words[1] == "server":
        return "server", words[2]
    return f"{words[1]} {words[2]}", words[3]
