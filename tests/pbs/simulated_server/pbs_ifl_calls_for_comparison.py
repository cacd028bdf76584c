"""The calls that the real pbs_ifl and the stand-in are both put through, and what came of each.

Runs under PBS's own Python on a server host (the names as JSON are its argument), and as a function over a
stand-in. Uses nothing but the standard library. Prints a list of [what was called, what it gave].
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any


def run(ifl: Any, names: Mapping[str, Any], wait: Callable[[float], None]) -> list[Any]:
    """All calls. `names` has the ids of the jobs and the names of the vnodes, `wait` lets seconds pass."""
    messages: list[Any] = []
    c = ifl.pbs_connect(None)
    first, plain, array, held, stubborn = (names[job] for job in ("first", "plain", "array", "held", "stubborn"))
    v1, v2 = names["vnodes"]

    def chain(kind: Any, *links: tuple[Any, ...]) -> Any:
        head = None
        for link in reversed(links):
            made = kind()
            made.name, made.resource, made.value = link[:3]
            if len(link) > 3:
                made.op = link[3]
            made.next = head
            head = made
        return head

    def attributes(*wanted: str) -> Any:
        return chain(ifl.attrl, *((name, None, "") for name in wanted))

    def changes(name: str, resource: str, value: str, op: int) -> Any:
        return chain(ifl.attropl, (name, resource, value, op))

    def setting(name: str, resource: str | None, value: str) -> Any:
        return chain(ifl.attrl, (name, resource, value))

    def walk(status: Any) -> list[Any]:
        found: list[Any] = []
        link = status
        while link:
            pairs: list[Any] = []
            attribute = link.attribs
            while attribute:
                pairs.append([attribute.name, attribute.resource, attribute.value])
                attribute = attribute.next
            found.append([link.name, pairs])
            link = link.next
        if status:
            ifl.pbs_statfree(status)
        return found

    def ask(label: str, status: Any) -> None:
        found = walk(status)
        messages.append([label, found, ifl.get_pbs_errno(), None if found else ifl.pbs_geterrmsg(c)])

    def do(label: str, code: int) -> None:
        messages.append([label, code, ifl.get_pbs_errno(), ifl.pbs_geterrmsg(c) if code else None])

    def jobs(label: str, job: str | None = None, extend: str | None = None) -> None:
        ask(label, ifl.pbs_statjob(c, job, None, extend))

    some = ("job_state", "queue", "Resource_List", "exec_vnode", "Hold_Types", "array_indices_remaining", "run_count")

    ask("server", ifl.pbs_statserver(c, None, None))
    ask("server, named", ifl.pbs_statserver(c, attributes("scheduling", "comment", "max_run"), None))
    ask("queues", ifl.pbs_statque(c, None, None, None))
    ask("no such queue", ifl.pbs_statque(c, "nosuch", None, None))
    ask("vnodes", ifl.pbs_statvnode(c, None, None, None))
    ask("vnodes, named", ifl.pbs_statvnode(c, "", attributes("state", "resources_available", "jobs"), None))
    ask("no such vnode", ifl.pbs_statvnode(c, "nosuch", None, None))
    ask("schedulers", ifl.pbs_statsched(c, attributes("scheduling", "partition"), None))
    ask("resources", ifl.pbs_statrsc(c, None, None, None))
    ask("reservations", ifl.pbs_statresv(c, None, None, None))
    jobs("jobs that wait")
    jobs("with subjobs", None, "t")
    ask("jobs, named", ifl.pbs_statjob(c, None, attributes(*some), None))
    ask("an attribute there is not", ifl.pbs_statjob(c, None, attributes("nosuch"), None))
    jobs("no such job", "999999")
    jobs("no such subjob", array.replace("[]", "[99]"))
    jobs("several, one of them unknown", f"{first},999999,{array.replace('[]', '[2]')}")
    jobs("several, none known", "999998,999999")

    do("run, no such job", ifl.pbs_runjob(c, "999999", f"({v1}:ncpus=1)", None))
    do("run, no such vnode", ifl.pbs_runjob(c, first, "(nosuch:ncpus=1)", None))
    do("run, no place", ifl.pbs_runjob(c, first, "((", None))
    do("rerun what waits", ifl.pbs_rerunjob(c, first, None))
    do("run an array", ifl.pbs_runjob(c, array, f"({v1}:ncpus=1)", None))
    do("run", ifl.pbs_runjob(c, first, f"({v1}:ncpus=2:mem=102400kb)", None))
    do("run what runs", ifl.pbs_runjob(c, first, f"({v1}:ncpus=1)", None))
    do("run in two chunks, far too much", ifl.pbs_asyrunjob(c, plain, f"({v2}:ncpus=60)+({v1}:ncpus=1)", None))
    do("run what is held", ifl.pbs_runjob(c, held, f"({v1}:ncpus=1)", None))
    do("run a subjob", ifl.pbs_runjob(c, array.replace("[]", "[2]"), f"({v1}:ncpus=1)", None))
    do("run, acknowledged, no such vnode", ifl.pbs_asyrunjob_ack(c, first, "(nosuch:ncpus=1)", None))
    do("run another, acknowledged", ifl.pbs_asyrunjob_ack(c, array.replace("[]", "[5]"), f"({v1}:ncpus=1)", None))
    do("run, without reply, no such vnode", ifl.pbs_asyrunjob(c, held, "(nosuch:ncpus=1)", None))
    do("run another", ifl.pbs_asyrunjob(c, array.replace("[]", "[4]"), f"({v1}:ncpus=1)", None))
    do("run the stubborn one", ifl.pbs_runjob(c, stubborn, f"({v1}:ncpus=1)", None))
    wait(8)
    do("signal what runs, a signal that does not exist", ifl.pbs_sigjob(c, stubborn, "STILLRUNNING", None))
    do("signal, no such job", ifl.pbs_sigjob(c, "999999", "STILLRUNNING", None))
    jobs("jobs that run", None, "t")
    ask("vnodes in use", ifl.pbs_statvnode(c, None, None, None))
    ask("subjobs that run", ifl.pbs_selstat(c, changes("job_state", "", "RES", ifl.EQ), attributes(*some), "T"))
    ask(
        "jobs that run, arrays whole",
        ifl.pbs_selstat(c, changes("job_state", "", "R", ifl.EQ), attributes(*some), None),
    )
    ask("queue in use", ifl.pbs_statque(c, None, attributes("state_count", "resources_assigned"), None))

    do(
        "alter a running job's select",
        ifl.pbs_alterjob(c, first, setting("Resource_List", "select", "2:ncpus=1"), None),
    )
    do("alter a comment", ifl.pbs_alterjob(c, first, setting("comment", None, "so it is"), None))
    do("alter nothing known", ifl.pbs_alterjob(c, first, setting("nosuch", None, "1"), None))
    do("mark", ifl.pbs_alterjob(c, first, setting("estimated", "site", "pbsteer for=1.s asked=5 held"), None))
    do("mark an array", ifl.pbs_alterjob(c, array, setting("estimated", "site", "pbsteer [2] for=1.s"), None))
    do("mark a subjob", ifl.pbs_alterjob(c, array.replace("[]", "[2]"), setting("estimated", "site", "x"), None))
    do("let it run on, held", ifl.pbs_alterjob(c, first, setting("Hold_Types", None, "s"), None))
    jobs("marked and held as they run", None, "t")
    do("rerun", ifl.pbs_rerunjob(c, first, None))
    do("rerun a subjob", ifl.pbs_rerunjob(c, array.replace("[]", "[2]"), None))
    do("rerun what may not", ifl.pbs_rerunjob(c, stubborn, None))
    wait(3)
    do("signal what waits", ifl.pbs_sigjob(c, first, "STILLRUNNING", None))
    do("signal a subjob that waits", ifl.pbs_sigjob(c, array.replace("[]", "[2]"), "STILLRUNNING", None))
    jobs("requeued", first)
    jobs("requeued array", array, "t")
    do("no more mark", ifl.pbs_alterjob(c, first, setting("estimated", "site", ""), None))
    do("no such mark", ifl.pbs_alterjob(c, first, setting("estimated", "nosuch", ""), None))
    do("hold for the system too", ifl.pbs_holdjob(c, first, "u", None))
    do("release the system's", ifl.pbs_rlsjob(c, first, "s", None))
    jobs("held by its owner", first)
    do("release the owner's", ifl.pbs_rlsjob(c, first, "u", None))
    do("hold a subjob", ifl.pbs_holdjob(c, array.replace("[]", "[2]"), "s", None))
    do("release a subjob", ifl.pbs_rlsjob(c, array.replace("[]", "[2]"), "s", None))
    do("alter a select", ifl.pbs_alterjob(c, first, setting("Resource_List", "select", "2:ncpus=1"), None))
    do("alter a place", ifl.pbs_alterjob(c, first, setting("Resource_List", "place", "scatter"), None))
    do("alter an estimate", ifl.pbs_alterjob(c, first, setting("Resource_List", "soft_walltime", "00:02:00"), None))
    do("alter a priority", ifl.pbs_alterjob(c, first, setting("Priority", None, "1023"), None))
    do("alter a priority too far", ifl.pbs_alterjob(c, first, setting("Priority", None, "1024"), None))
    do("alter a running job's priority", ifl.pbs_alterjob(c, stubborn, setting("Priority", None, "7"), None))
    do("hold", ifl.pbs_holdjob(c, first, "u", None))
    jobs("altered and held", first)
    do("release", ifl.pbs_rlsjob(c, first, "u", None))
    do("delete a running job", ifl.pbs_deljob(c, plain, None))
    do("delete a waiting job", ifl.pbs_deljob(c, first, None))
    wait(5)
    jobs("ended", plain, "x")
    jobs("ended before it ran", first, "x")
    jobs("ended, but not asked for", plain)

    def manage(label: str, kind: int, name: str, *changed: tuple[Any, ...]) -> None:
        do(label, ifl.pbs_manager(c, ifl.MGR_CMD_SET, kind, name, chain(ifl.attropl, *changed), None))

    queue = ifl.MGR_OBJ_QUEUE
    manage("set a limit", queue, "workq", ("max_run_res_soft", "ncpus", "[u:alice=4]", ifl.SET))
    manage("add to it", queue, "workq", ("max_run_res_soft", "ncpus", "[u:bob=8],[u:alice=5]", ifl.INCR))
    ask("the limit", ifl.pbs_statque(c, "workq", attributes("max_run_res_soft"), None))
    manage("take from it", queue, "workq", ("max_run_res_soft", "ncpus", "[u:bob=8]", ifl.DECR))
    manage("no limit", queue, "workq", ("max_run_res_soft", "ncpus", "alice=4", ifl.SET))
    manage("no such resource", queue, "workq", ("max_run_res_soft", "nosuch", "[u:a=4]", ifl.SET))
    manage("no such attribute", queue, "workq", ("nosuch", None, "4", ifl.SET))
    manage("no such queue to set", queue, "nosuch", ("started", None, "True", ifl.SET))
    manage("no truth value", queue, "workq", ("started", None, "maybe", ifl.SET))
    manage("what cannot be set", queue, "workq", ("total_jobs", None, "4", ifl.SET))
    manage("no such vnode to set", ifl.MGR_OBJ_NODE, "nosuch", ("comment", None, "x", ifl.SET))
    sched = ifl.MGR_OBJ_SCHED
    manage("switch a scheduler off", sched, "default", ("scheduling", None, "False", ifl.SET))
    ask("schedulers, off", ifl.pbs_statsched(c, attributes("scheduling", "partition"), None))
    manage("no such scheduler to switch", sched, "nosuch", ("scheduling", None, "False", ifl.SET))
    manage("a scheduler neither on nor off", sched, "default", ("scheduling", None, "perhaps", ifl.SET))
    ask("the limit in the end", ifl.pbs_statque(c, "workq", attributes("max_run_res_soft"), None))
    do("disconnect", ifl.pbs_disconnect(c))
    return messages


if __name__ == "__main__":
    print(json.dumps(run(importlib.import_module("pbs_ifl"), json.loads(sys.argv[1]), time.sleep)))  # noqa: T201
