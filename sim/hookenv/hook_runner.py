"""Runs hook files, as they would be imported into PBS, against a simulated server.

In a hook `import pbs`, `import pbs_ifl` and `import time` give stand-ins for that server, which no other code in the
process can import. As in PBS, an event starts with fresh globals, and modules that a hook created itself stay loaded.
"""

from __future__ import annotations

import builtins
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from sim.hookenv.pbs_ifl_module import make_pbs_ifl
from sim.hookenv.pbs_module import MODIFYJOB, PERIODIC, QUEUEJOB, RUNJOB, Event, make_pbs, wrap_job, wrap_vnode
from sim.pbs_server.hook_calls_interface import HookRejection
from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.objects.jobs import SimJob
from sim.pbs_server.server import SimServer

EVENTS: Mapping[str, int] = {"queuejob": QUEUEJOB, "modifyjob": MODIFYJOB, "runjob": RUNJOB, "periodic": PERIODIC}

# A hook's own modules are in `sys.modules` while it runs, which the whole process shares.
_ONE_AT_A_TIME = threading.RLock()


class HookSite:
    """The hooks of one simulated server: files by event, PBS_HOME, and the hooks' configuration file.

    Registers itself as the server's hooks; the owner of the interval calls :meth:`periodic`.
    """

    def __init__(self, server: SimServer, sources: Mapping[str, str], home: Path, config: Path | None = None) -> None:
        self._server = server
        self._codes = {event: compile(source, f"<{event}>", "exec") for event, source in sources.items()}
        self._home = str(home)
        self._config = str(config) if config else None
        self._loaded: dict[str, ModuleType] = {}
        self._importable: dict[str, ModuleType] = {
            "pbs_ifl": make_pbs_ifl(server),
            "time": make_time(server.clock),
        }
        server.hooks = self
        _lay_out_schedulers(server, home)

    def queuejob(self, user: str, attributes: dict[str, str]) -> None:
        """A job is being submitted."""
        attributes.setdefault("queue", "")
        job = wrap_job(self._server, "", attributes)
        self._fire("queuejob", Event(QUEUEJOB, "pbsteer_queuejob", user, self._server.name, job=job))
        for name in [name for name, text in attributes.items() if not text and name != "queue"]:
            del attributes[name]

    def modifyjob(self, user: str, job: SimJob, changes: dict[str, str]) -> None:
        """A job is being altered."""
        seen, before = (wrap_job(self._server, job.id, texts) for texts in (changes, {**job.texts}))
        event = Event(MODIFYJOB, "pbsteer_modifyjob", user, self._server.name, job=seen, job_o=before)
        self._fire("modifyjob", event)

    def runjob(self, job: SimJob, exec_vnode: str) -> None:
        """A job is about to start."""
        seen = wrap_job(self._server, job.id, {**job.texts, "exec_vnode": exec_vnode})
        self._fire("runjob", Event(RUNJOB, "pbsteer_runjob", "root", self._server.name, job=seen))

    def periodic(self) -> None:
        """The interval has passed. A rejection or an error of the hook has no effect on the caller."""
        vnodes = _Vnodes(self._server)
        event = Event(PERIODIC, "pbsteer_periodic", None, None, vnode_list=vnodes)
        try:
            self._fire("periodic", event)
        except HookRejection:
            return

    def _fire(self, name: str, event: Event) -> None:
        code = self._codes.get(name)
        if code is None:
            return
        pbs = make_pbs(self._server, event, self._home, self._config)
        try:
            self._run(code, pbs)
        except SystemExit:
            pass
        except Exception as error:
            self._server.log.append(f"{event.hook_name}: {traceback.format_exc()}")
            message = (
                f"request rejected as filter hook '{event.hook_name}' encountered an exception. Please inform Admin"
            )
            raise HookRejection(message) from error
        if event.rejection is not None:
            raise HookRejection(event.rejection)

    def _run(self, code: CodeType, pbs: ModuleType) -> None:
        importable = {**self._importable, "pbs": pbs}

        def import_for_hook(
            name: str,
            of: Mapping[str, object] | None = None,
            within: Mapping[str, object] | None = None,
            names: Sequence[str] = (),
            level: int = 0,
        ) -> Any:
            found = importable.get(name)
            return found if found is not None else builtins.__import__(name, of, within, names, level)

        with _ONE_AT_A_TIME:
            before = set(sys.modules)
            sys.modules.update(self._loaded)
            try:
                exec(code, {"__builtins__": {**vars(builtins), "__import__": import_for_hook}})  # noqa: S102
            finally:
                self._loaded = dict(_made_by_hand(before))
                for name in self._loaded:
                    del sys.modules[name]


class _Vnodes(Mapping[str, Any]):
    """All vnodes by name, each wrapped when it is read."""

    def __init__(self, server: SimServer) -> None:
        self._server = server

    def __getitem__(self, name: str) -> Any:
        if name not in self._server.vnodes:
            raise KeyError(name)
        return wrap_vnode(self._server, name)

    def __iter__(self) -> Any:
        return iter(self._server.vnodes)

    def __len__(self) -> int:
        return len(self._server.vnodes)


def _lay_out_schedulers(server: SimServer, home: Path) -> None:
    """Give each scheduler a folder in PBS_HOME with a ``sched_config`` that has what PBS installs."""
    for name, texts in server.scheds.items():
        folder = home / ("sched_priv" if name == "default" else f"sched_priv_{name}")
        folder.mkdir(exist_ok=True)
        (folder / "sched_config").write_text("by_queue: True ALL\nfair_share: false ALL\n", encoding="utf-8")
        texts["sched_priv"] = str(folder)


def make_time(clock: Clock) -> ModuleType:
    """The module `time` with the simulated time of day. Clocks that measure elapsed time stay real."""
    module = ModuleType("time", "The simulated server's time.")
    vars(module).update({name: value for name, value in vars(time).items() if not name.startswith("__")})

    def at(function: Any) -> Any:
        return lambda seconds=None: function(clock.now_s if seconds is None else seconds)

    def now() -> float:
        return clock.now_s

    vars(module).update(
        time=now,
        time_ns=lambda: int(clock.now_s * 1e9),
        localtime=at(time.localtime),
        gmtime=at(time.gmtime),
        ctime=at(time.ctime),
        strftime=lambda form, when=None: time.strftime(form, when or time.localtime(clock.now_s)),
    )
    return module


def _made_by_hand(before: set[str]) -> list[tuple[str, ModuleType]]:
    """The new modules in `sys.modules` that no import made: a hook's own."""
    return [
        (name, module)
        for name, module in list(sys.modules.items())
        if name not in before and isinstance(module, ModuleType) and getattr(module, "__spec__", None) is None
    ]
