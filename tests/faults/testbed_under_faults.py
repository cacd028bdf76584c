"""The ground that faults are tried on: a real server with pbsteer's hooks, the injector in them, a pass every second.

Everything a fault does to the outside of a pass (ending daemons, cutting a network, filling a disk) is here, and so is
how long a recovery may take. What is ended is put back by the same fault; :meth:`Ground.heal` makes sure of it.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Callable

from container import testbed as testbeds
from container.hosts.find_and_enter_running_host import find_host_process
from hooks.checkpoint.save_method.read_save_method_job_asked_for import REQUEUE
from hooks.deploy.bundle_hook import EVENTS, PREFIX, build
from hooks.pbs.client.pbs_ifl_client import HOLD
from hooks.pbs.custom_resources import MODE, SAVE_ATTRIBUTE
from hooks.pbs.own_switch_values import START_HOOK
from hooks.store.state_files import LAST_PASS, PASSES, State
from hooks.store.state_folder import FOLDER
from policy.settings.ranking_and_stripe_settings import RankingSettings
from policy.settings.settings_of_server_and_passes import ScheduleSettings, ServerSettings
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, QuotaSettings, Settings
from tests.faults.accounting_and_job_log_invariants import Books, time_of
from tests.faults.build_injector_into_hook import Missed, Orders, build_in
from tests.faults.endless_preempting_jobs import Workload
from tests.hooks.deploy_on_testbed import deploy, drive
from tests.pbs.cluster import PbsCluster

QUEUE = "workq"
QUOTAS = {"alice": 4, "bob": 16, "carol": 8, "dave": 8}
INTERVAL_S = 1
"""Too short for passes ahead of their time, which a longer interval has."""

ALARM_S = 8
GRACE_S = 3
MOST_PASSES = 3
"""After a fault, so many passes may begin until one comes to its end."""

_PATIENCE_S = 120.0
_DISK = "size=48m,nr_inodes=120,mode=700"
_SERVER = ["pgrep", "-o", "-x", "pbs_server.bin"]
_SECOND = Path(__file__).with_name("concurrent_pass.py")

# A job that asks for more than its user's quota never starts again once it was preempted that often: so more often than
# the faults of one run can make it.
_MOST_PREEMPTIONS = 40

SETTINGS = Settings(
    backfill=BackfillSettings(kind="checkpoint", shrink_factor=0.5, shrink_threshold_s=10),
    checkpoint=CheckpointSettings(grace_s=GRACE_S, cost_s=0, repeat_at_most_s=3600),
    quota=QuotaSettings(max_preemptions=_MOST_PREEMPTIONS),
    ranking=RankingSettings(interval_s=5),
    schedule=ScheduleSettings(interval_s=INTERVAL_S, budget_s=0.8),
    server=ServerSettings(),
)


class LostError(Exception):
    """Something that must hold does not; the message says what."""


class Ground:
    """A testbed under fire, with a pass each ``interval_s``. ``folder`` takes orders, records, diaries."""

    def __init__(self, pbs: PbsCluster, seed: str, interval_s: int = INTERVAL_S) -> None:
        self.pbs = pbs
        self.interval_s = interval_s
        self.folder = pbs.testbed.folder / "faults"
        self.folder.mkdir(mode=0o755)
        self.orders = Orders(self.folder)
        cores = dict.fromkeys(pbs.mom_names, pbs.spec.cores)
        self.books = Books(pbs.server_home / "server_priv" / "accounting", cores)
        self.workload = Workload(pbs, self.books, self.folder, seed)
        first = find_host_process(pbs.testbed.folder, pbs.spec.server)
        self._root = Path(f"/proc/{first}/root")
        self.home = pbs.server_home / FOLDER
        self.state_path = self._root / self.home.relative_to("/")
        """pbsteer's folder as the server sees it, mounts and all."""
        self.phantoms: set[str] = set()
        """Jobs that the server called running though their programs were gone, and no longer counted."""
        self.restarted_moms = 0
        """How often a MoM had to be started again that ran, but was not connected any more."""

    # Making it

    def prepare(self) -> None:
        """Hooks, quotas, the injector, a small disk of its own under pbsteer's folder, and jobs."""
        self.set_limits()
        self._sort_by_priority()
        schedule = replace(SETTINGS.schedule, interval_s=self.interval_s)
        deploy(self.pbs, replace(SETTINGS, schedule=schedule, server=ServerSettings(mode="observe")))
        drive(self.pbs)
        self.pbs.qmgr("set hook pbsteer_periodic enabled = False")
        aside = self.home.with_name(f"{FOLDER}.aside")
        script = (
            f"cp -a {self.home} {aside} && mount -t tmpfs -o {_DISK} tmpfs {self.home}"
            f" && cp -a {aside}/. {self.home}/ && rm -r {aside}"
        )
        self.pbs.run(["sh", "-c", script]).demand_success()
        for event in EVENTS:
            path = self.folder / f"{event}.py"
            path.write_text(build_in(build(event), event, self.folder), encoding="utf-8")
            self.pbs.qmgr(f"import hook {PREFIX}{event} application/x-python default {path}")
        (self.folder / "second.py").write_text(build_in(build("periodic"), "second", self.folder), encoding="utf-8")
        self.pbs.qmgr(f"set hook pbsteer_periodic alarm = {ALARM_S}", "set hook pbsteer_periodic enabled = True")
        self.workload.top_up()
        self.demand_pass(time.time())

    @contextmanager
    def guarded_starts(self) -> Iterator[None]:
        """Have the hook of starts on, which passes otherwise switch off: a queue's own save method keeps it on. This
        method is the one that the settings have."""
        self.pbs.qmgr(f"set queue {QUEUE} {SAVE_ATTRIBUTE} = {REQUEUE}")
        try:
            is_on = f"list hook {START_HOOK} enabled"
            self.pbs.wait_until(lambda: "true" in self.pbs.qmgr(is_on), _PATIENCE_S, "the hook of starts is on")
            yield
        finally:
            self.pbs.qmgr(f"unset queue {QUEUE} {SAVE_ATTRIBUTE}")

    # Passes

    def _sort_by_priority(self) -> None:
        """Have PBS's own scheduler go by priorities, which advising needs."""
        config = self.pbs.server_home / "sched_priv" / "sched_config"
        config.write_text(config.read_text() + 'job_sort_key: "job_priority HIGH"\tALL\n')
        number = (config.parent / "sched.lock").read_text().strip()
        self.pbs.run(["kill", "-HUP", number]).demand_success()

    def demand_pass(self, since_s: float) -> None:
        """Wait for a pass that ends well after ``since_s``; raises :class:`LostError` where too many did not."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            ended = [mark for mark in self.orders.read_passes() if mark.begin_s > since_s]
            written_s = self._published_s()
            if written_s > since_s and any(mark.end_s is not None and mark.begin_s <= written_s for mark in ended):
                return
            if len(ended) > MOST_PASSES:
                time.sleep(0.3)
                if self._published_s() <= since_s:
                    raise LostError(f"{len(ended)} passes began since, and none came to its end")
            if time.monotonic() > deadline:
                raise LostError(f"no pass ended within {_PATIENCE_S:g} s; {len(ended)} began")
            time.sleep(0.03)

    def demand_driving(self, since_s: float) -> None:
        """Wait for a pass that drives the queue, and began after ``since_s``; raises :class:`LostError` without one."""
        deadline = time.monotonic() + _PATIENCE_S
        while self._published_s() <= since_s or QUEUE not in self.read_last_pass().get("acted", ()):
            if time.monotonic() > deadline:
                raise LostError(f"no pass drives {QUEUE} within {_PATIENCE_S:g} s; {self.tell_last_pass()}")
            self.workload.top_up()
            time.sleep(0.1)

    def forgive(self) -> None:
        """Let pbsteer drive at once if passes had failed so often that it waits for a long row of good ones.

        A campaign has no such rows. What an administrator would do: remove the file that counts them.
        """
        deadline = time.monotonic() + _PATIENCE_S
        # A pass that is just ending writes the file once more.
        while State(self.state_path).read_published(PASSES).get("setbacks") and time.monotonic() < deadline:
            (self.state_path / PASSES).unlink(missing_ok=True)
            time.sleep(0.5)

    def read_last_pass(self) -> Mapping[str, Any]:
        """What the last pass that came to its end has published."""
        return State(self.state_path).read_published(LAST_PASS)

    def tell_last_pass(self) -> str:
        """The last pass in a few words, for whoever wonders why a moment did not come."""
        entry = self.read_last_pass()
        kept = {key: entry.get(key) for key in ("modes", "acted", "waiting", "running", "notes", "failures")}
        breaker = State(self.state_path).read_published(PASSES)
        return f"the last pass, {time.time() - self._published_s():.0f} s ago: {str(kept)[:600]}; {breaker}"

    def set_mode(self, mode: str) -> None:
        """Set the queue's mode: one value."""
        self.pbs.qmgr(f"set queue {QUEUE} resources_available.{MODE} = {mode}")

    def set_limits(self, quotas: Mapping[str, int] = QUOTAS, hard: Mapping[str, int] = MappingProxyType({})) -> None:
        """Set the users' quotas, and hard limits of PBS, all in cores."""
        for name, limits in (("max_run_res_soft", quotas), ("max_run_res", hard)):
            text = ",".join(f"[u:{user}={cores}]" for user, cores in limits.items())
            attribute = f"queue {QUEUE} {name}.ncpus"
            self.pbs.qmgr(f"set {attribute} = '{text}'" if limits else f"unset {attribute}")

    def is_scheduling(self) -> bool:
        """Whether PBS's own scheduler is switched on."""
        return self.pbs.qmgr("list sched default scheduling").strip().endswith("True")

    def find_held_jobs(self) -> list[str]:
        """The jobs that the system holds now, whether they wait or still run."""
        self.workload.top_up()
        return self.pbs.run(["qselect", "-h", HOLD]).stdout.split()

    def steps_of_a_pass(self) -> int:
        """The most steps of the last passes, which says how far an enumeration goes."""
        return max((mark.steps for mark in self.orders.read_passes()[-12:]), default=60) or 60

    def is_alive(self, pid: int) -> bool:
        """Whether the server's host has a process of this number that is no zombie."""
        try:
            status = (self._root / "proc" / str(pid) / "stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            return False
        return status.rpartition(")")[2].split()[0] != "Z"

    def signal(self, pid: int, name: str) -> None:
        """Send a process on the server's host a signal."""
        self.pbs.run(["kill", f"-{name}", str(pid)]).demand_success()

    def server_log_since(self, size: int) -> str:
        """What the server has logged since its log had this size."""
        return self.pbs.server_log()[size:]

    def _published_s(self) -> float:
        try:
            return (self.state_path / LAST_PASS).stat().st_mtime
        except OSError:
            return 0.0

    # Daemons and networks

    def server_pid(self) -> int | None:
        """The server's process number on its host."""
        text = self.pbs.run(_SERVER).stdout.strip()
        return int(text) if text else None

    def kill_server(self) -> int:
        """End the server at once, wherever it is; returns its process number."""
        pid = self.server_pid()
        if pid is None:
            raise Missed("there is no server")
        self.signal(pid, "KILL")
        self.wait_for_death(pid)
        return pid

    def wait_for_death(self, pid: int, timeout_s: float = 60.0) -> None:
        """Wait until a process of the server's host is gone."""
        self.wait_until(lambda: not self.is_alive(pid), timeout_s, f"the end of process {pid}")

    def start_server(self) -> None:
        """Start the server after its end, and wait until its MoMs are there again."""
        self.pbs.wait_until(lambda: self.server_pid() is None, 60.0, "no server is left")
        self.pbs.start_server()
        self.wait_for_moms()

    def wait_for_moms(self) -> None:
        """Wait until every vnode may take jobs, or has all it can hold.

        A MoM whose server was killed may lose its connection for good ("Error writing to app mbox" in its log, OpenPBS
        23.06): where waiting does not help, it is started again, keeping its jobs, as an administrator would.
        """
        try:
            self.wait_until(self._are_moms_up, 25.0, "all MoMs are there")
        except Missed:
            for host, vnode in self.pbs.pbsnodes().items():
                if not _is_up(str(vnode["state"])):
                    self.pbs.run(["pkill", "-KILL", "-x", "pbs_mom"], host=host)
                    self.start_mom(host, ["-p"])
                    self.restarted_moms += 1
            self.wait_until(self._are_moms_up, 120.0, "all MoMs are there, started again")

    def _are_moms_up(self) -> bool:
        return all(_is_up(str(vnode["state"])) for vnode in self.pbs.pbsnodes().values())

    def kill_mom(self, host: str) -> int:
        """End a host's MoM at once; returns its process number there."""
        pid = self.pbs.run(["pgrep", "-o", "-x", "pbs_mom"], host=host).demand_success().stdout.strip()
        self.pbs.run(["pkill", "-KILL", "-x", "pbs_mom"], host=host).demand_success()
        return int(pid)

    def mom_runs(self, host: str) -> bool:
        """Whether a host has a MoM."""
        return self.pbs.run(["pgrep", "-x", "pbs_mom"], host=host).status == 0

    def start_mom(self, host: str, options: Sequence[str] = ()) -> None:
        """Start a host's MoM again."""
        self.pbs.run([f"{self.pbs.spec.pbs_exec}/sbin/pbs_mom", *options], host=host).demand_success()

    def set_link(self, host: str, state: str) -> None:
        """Cut a MoM's host off the network (``down``), or join it again (``up``)."""
        number = self.pbs.mom_names.index(host) + 1
        self.pbs.run(["ip", "link", "set", f"veth{number}", state]).demand_success()

    def find_busy_host(self, chance: random.Random) -> str:
        """The MoM's host with most jobs now; any where none has one."""
        vnodes = self.pbs.pbsnodes()
        hosts = self.pbs.mom_names
        most = max(len(vnodes[host].get("jobs", ())) for host in hosts)
        return chance.choice([host for host in hosts if len(vnodes[host].get("jobs", ())) == most])

    # The disk

    def remount(self, option: str) -> None:
        """Remount pbsteer's disk: ``ro`` or ``rw``."""
        self.pbs.run(["mount", "-o", f"remount,{option}", str(self.home)]).demand_success()

    def fill_disk(self) -> str:
        """Fill the disk to the last byte; returns the kernel's words."""
        with (self.state_path / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"\0" * 65536)
            except OSError as error:
                return str(error)

    def fill_inodes(self) -> str:
        """Make files until there can be no more; returns the kernel's words."""
        folder = self.state_path / "filler.d"
        try:
            folder.mkdir(exist_ok=True)
            for number in range(10_000):
                (folder / str(number)).touch()
        except OSError as error:
            return str(error)
        raise AssertionError("10,000 files fit on a disk for 120")

    def empty_disk(self) -> None:
        """Remove what :meth:`fill_disk` and :meth:`fill_inodes` made."""
        (self.state_path / "filler").unlink(missing_ok=True)
        shutil.rmtree(self.state_path / "filler.d", ignore_errors=True)

    # A second pass

    def start_second_pass(self) -> subprocess.Popen[bytes]:
        """A pass of its own beside the server's, with the injector's event ``second``."""
        hook = self.folder / "second.py"
        python = f"{self.pbs.spec.pbs_exec}/bin/pbs_python"
        words = [python, "-I", str(_SECOND), self.pbs.spec.pbs_exec, str(self.pbs.server_home), str(hook)]
        argv, env = testbeds.build_command(self.pbs.testbed, "server", words, cwd=Path("/"))
        with (self.folder / "second.out").open("ab") as out:
            return subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    # Whatever happened

    def heal(self) -> None:
        """Put back what a fault that did not come to its own end may have left."""
        for event in EVENTS:
            self.orders.withdraw(event)
        self.remount("rw")
        self.empty_disk()
        for path in self.state_path.iterdir():
            if path.name != "hooks" and path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
        for host in self.pbs.mom_names:
            self.set_link(host, "up")
            if not self.mom_runs(host):
                self.start_mom(host)
        if self.server_pid() is None:
            self.start_server()
        self.set_limits()
        self.set_mode("drive")
        self.wait_for_moms()

    def check(self) -> None:
        """What holds at every moment; raises :class:`LostError`."""
        self.books.read()
        found = [*self.books.violations, *self._look_into_crowds()]
        self.books.violations.clear()
        found += self.workload.read_twice()
        for name, vnode in self.pbs.pbsnodes().items():
            used = int(vnode.get("resources_assigned", {}).get("ncpus", 0))
            if used > self.pbs.spec.cores:
                found.append(f"vnode {name} has {used} cores assigned, of {self.pbs.spec.cores}")
        if found:
            raise LostError("; ".join(found))

    def _look_into_crowds(self) -> list[str]:
        """A sentence for each vnode that held too much by the accounting log and by the programs alive then."""
        crowds = list(self.books.crowds)
        self.books.crowds.clear()
        found = []
        for crowd in crowds:
            alive = self.workload.find_alive(crowd.starts_s, time_of(crowd.line))
            used = sum(crowd.jobs[job] for job in alive)
            if used > self.pbs.spec.cores:
                found.append(f"{crowd.vnode} held {used} cores by {sorted(alive)}: {self.books.tell(crowd.jobs)}")
            else:
                self.phantoms |= crowd.jobs.keys() - alive
        return found

    def wait_until(self, holds: Callable[[], object], timeout_s: float, what: str) -> None:
        """Wait for a moment that a fault needs. Raises :class:`Missed`."""
        deadline = time.monotonic() + timeout_s
        while not holds():
            if time.monotonic() > deadline:
                raise Missed(f"waited {timeout_s:g} s in vain for: {what}")
            time.sleep(0.03)


def _is_up(state: str) -> bool:
    return not any(word in state for word in ("down", "unknown", "offline"))


def tell_error(error: BaseException) -> str:
    """An error in a line, with where it was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})" if trace is not None else ""
    return f"{type(error).__name__}: {str(error)[:4000]}{where}"
