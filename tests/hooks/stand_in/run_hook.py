"""Run one hook file as PBS does, several events in one interpreter, and print what came of it as one line of JSON.

Usage: python -I -S -OO run_hook.py HOOK_FILE SCENARIO_FILE. The scenario's events each name the job's attributes; the
rest of it is what the server has.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pbs  # type: ignore[import-not-found, unused-ignore]
import pbs_ifl  # type: ignore[import-not-found, unused-ignore]


def main() -> None:
    scenario = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    pbs.pbs_conf["PBS_HOME"] = scenario["home"]
    pbs.hook_config_filename = scenario.get("config")
    pbs_ifl.WORLD.update(scenario.get("cluster", {}))
    pbs_ifl.REFUSALS.update(scenario.get("refusals", {}))
    for name, vnode in scenario.get("vnodes", {}).items():
        kind = pbs.Undefined if vnode.get("undefined") else pbs.Resources
        amounts = {part: kind(vnode[part]) for part in ("resources_available", "resources_assigned")}
        also = {part: vnode.get(part) for part in ("jobs", "queue", "partition")}
        pbs.VNODES[name] = pbs.Record(name=name, state=vnode.get("state", 0), **also, **amounts)
    for name, job in scenario.get("jobs", {}).items():
        pbs.JOBS[name] = pbs.Record(**{"job_state": 0, **job})
    hook = compile(Path(sys.argv[1]).read_text(encoding="utf-8"), "<embedded code object>", "exec")
    events = []
    for given in scenario["events"]:
        resources = pbs.Resources(given.pop("Resource_List", {}))
        if "reservation" in given:
            pbs.event().resv = pbs.Record(Resource_List=resources, **given.pop("reservation"))
        if "management" in given:
            request = given.pop("management")
            attribs = [pbs.Record(**each) for each in request.pop("attribs", [])]
            pbs.event().management = pbs.Record(attribs=attribs, **request)
        for name in ("requestor", "requestor_host"):
            setattr(pbs.event(), name, given.pop(name, getattr(pbs.event(), name)))
        before = given.pop("job_o", {})
        if before is None:
            # As PBS gives it where it cannot make the event of the request.
            pbs.event().job_o = None
        elif before:
            known = pbs.Record(**{**before, "Resource_List": pbs.Resources(before["Resource_List"])})
            pbs.event().job_o = pbs.event().resv_o = known
        reruns: list[bool] = []
        if "Priority" in given:
            given["Priority"] = pbs.priority(given["Priority"])
        on_host = {"stime": None, "in_ms_mom": lambda: True, "rerun": partial(reruns.append, True)}
        pbs.event().job = pbs.Record(Resource_List=resources, **{"id": "", **on_host, **given})
        ended = None
        try:
            # PBS gives each event fresh globals without a file name.
            exec(hook, {"__builtins__": __builtins__, "__name__": "builtins"})  # noqa: S102
        except SystemExit as error:
            ended = str(error)
        told = {key: str(value) for key, value in resources.items()}
        priority = str(getattr(pbs.event().job, "Priority", ""))
        listed = getattr(pbs.event().job, "Variable_List", None)
        variables = dict(listed) if isinstance(listed, dict) else {}
        events.append(
            {
                "ended": ended,
                "variables": variables,
                "resources": told,
                "is requeued": bool(reruns),
                "priority": priority,
            }
        )
    loaded = sorted(name for name in sys.modules if name.startswith("pbsteer_"))
    answer = {
        "events": events,
        "verdicts": pbs.VERDICTS,
        "vnodes": {name: dict(vnode.resources_available) for name, vnode in pbs.VNODES.items()},
        "logged": pbs.LOGGED,
        "calls": pbs_ifl.CALLS,
        "server calls": len(pbs.SERVER_CALLS),
        "modules": loaded,
        "optimize": sys.flags.optimize,
        "python": list(sys.version_info[:2]),
    }
    sys.stdout.write(json.dumps(answer) + "\n")


main()
