"""The bundled hook of PBS's management event: one line of the audit for a change, none for what any user can send."""

from __future__ import annotations

import json
import stat
from typing import Any

import pytest

from hooks.audit.request_of_management_event import MOST_TEXT, UNREADABLE
from hooks.audit.shared_audit_file import CHANGES
from tests.hooks.run_bundled_hook import Hook

FORGED = "11/22/2026 12:00:00;0004;Server@hpc1;Que;workq;attributes set:  at request of root@hpc1"
SET, SERVER, QUEUE, SCHED, HOST, HOOK = 2, 0, 1, 6, 7, 8
ADD, TAKE = 2, 3


def attribute(name: str, value: str, *, resource: str | None = None, op: int = 0) -> dict[str, Any]:
    return {"name": name, "resource": resource, "value": value, "op": op, "flags": 0}


def request(
    cmd: int, kind: int, name: str, *attributes: dict[str, Any], code: int = 0, text: str | None = None, **event: Any
) -> dict[str, Any]:
    told = {"cmd": cmd, "objtype": kind, "objname": name, "request_time": 1_795_796_574, "attribs": attributes}
    return {"requestor": "alice", "management": {**told, "reply_code": code, "reply_text": text}, **event}


def read(hook: Hook) -> list[dict[str, str]]:
    path = hook.state.path / CHANGES
    return [json.loads(line) for line in path.read_text("ascii").splitlines()] if path.exists() else []


def test_each_change_is_one_line_in_the_words_of_qmgr(hook: Hook) -> None:
    events = [
        request(SET, QUEUE, "workq", attribute("max_run_res_soft", "[u:bob=4]", resource="ncpus", op=ADD)),
        request(SET, QUEUE, "", attribute("enabled", "true")),
        request(3, QUEUE, "workq", attribute("max_queued", "", op=1), attribute("Priority", "", op=1)),
        request(SET, SERVER, "", attribute("scheduling", "False")),
        request(SET, HOST, "m1", attribute("state", "offline", op=TAKE)),
        request(0, 5, "foo", attribute("type", "long")),
        request(1, 8, "bar"),
        request(7, 8, "bar", attribute("input-file", "qmgr_hook1"), attribute("content-encoding", "default"),
                attribute("content-type", "application/x-python")),
    ]  # fmt: skip
    answer = hook.run("management", events=events)
    assert answer["verdicts"] == [None] * len(events)
    assert [entry["command"] for entry in read(hook)] == [
        "set queue workq max_run_res_soft.ncpus += [u:bob=4]",
        "set queue @default enabled = true",
        "unset queue workq max_queued, Priority",
        "set server scheduling = False",
        "set node m1 state -= offline",
        "create resource foo type = long",
        "delete hook bar",
        "import hook bar application/x-python default",
    ]
    assert read(hook)[0] == {
        **read(hook)[0], "time": "2026-11-27T16:22:54.000+00:00", "stage": "done", "user": "alice", "origin": "login",
        "source": "request",
    }  # fmt: skip
    assert stat.S_IMODE((hook.state.path / CHANGES).stat().st_mode) == 0o600


def test_no_text_begins_a_line_or_is_without_bound(hook: Hook) -> None:
    events = [
        request(SET, QUEUE, f"a\n{FORGED}\n", attribute("comment", f"b\r\n{FORGED}\x1b[2J\u2028é")),
        request(SET, QUEUE, "workq", *(attribute("comment", "x" * 1_000_000) for _ in range(20))),
    ]
    hook.run("management", events=events)
    lines = (hook.state.path / CHANGES).read_bytes().splitlines()
    assert len(lines) == 2
    assert all(FORGED.encode() not in line[:60] and b"\x1b" not in line for line in lines)
    assert len(lines[1]) < MOST_TEXT + 400
    assert json.loads(lines[1])["command"].endswith("x ...")


def test_users_reservations_leave_no_line_and_a_managers_change_of_their_queue_does(hook: Hook) -> None:
    """PBS itself makes, opens, closes and deletes the queue of each: a user's loop of them fills no audit."""
    own: dict[str, Any] = {"requestor": "pbs_server"}
    events = [
        request(0, QUEUE, "R12", attribute("acl_users", "alice@login"), **own),
        request(SET, QUEUE, "S13", attribute("enabled", "True"), **own),
        request(1, QUEUE, "R12", **own),
        request(SET, QUEUE, "S13", attribute("enabled", "False")),
        request(SET, QUEUE, "workq", attribute("enabled", "False"), **own),
    ]
    hook.run("management", events=events)
    assert [(entry["user"], entry["command"]) for entry in read(hook)] == [
        ("alice", "set queue S13 enabled = False"),
        ("pbs_server", "set queue workq enabled = False"),
    ]


def test_what_any_user_can_send_and_a_passes_own_switch_leave_no_line(hook: Hook) -> None:
    events = [
        request(SET, QUEUE, "workq", attribute("enabled", "true"), code=15007, text="Unauthorized Request "),
        request(0, 8, "y", code=15136, text="alice@here is unauthorized to access hooks data"),
        request(99, 8, "y", code=15004),
        request(8, 8, "y"),
        request(SET, SCHED, "default", attribute("scheduling", "n"), requestor="root"),
        request(SET, HOOK, "pbsteer_runjob", attribute("enabled", "n"), requestor="root"),
        request(3, SERVER, "", attribute("scheduling", "", op=1), requestor="root"),
    ]
    hook.run("management", events=events)
    assert read(hook) == []
    hook.run("management", events=[request(SET, SCHED, "default", attribute("scheduling", "n"), requestor="olga")])
    assert [entry["command"] for entry in read(hook)] == ["set sched default scheduling = n"]
    hook.run("management", events=[request(SET, HOOK, "pbsteer_periodic", attribute("enabled", "n"), requestor="root")])
    assert read(hook)[-1]["command"] == "set hook pbsteer_periodic enabled = n"


def test_what_was_tried_by_one_who_may_is_a_failed_change(hook: Hook) -> None:
    hook.run("management", events=[request(SET, QUEUE, "nosuch", code=15018, text="Unknown queue")])
    assert [(entry["stage"], entry["reply"]) for entry in read(hook)] == [("failed", "Unknown queue")]


def test_a_request_that_pbs_cannot_hand_over_is_not_hidden(hook: Hook) -> None:
    """Bytes that are no UTF-8. What another user sends so was refused."""
    hook.run("management", events=[{"requestor": "olga"}, {"requestor": "alice"}])
    told = [(entry["user"], entry["stage"], entry["command"]) for entry in read(hook)]
    assert told == [("olga", "unconfirmed", UNREADABLE)]


@pytest.mark.parametrize("what", ["no folder", "a folder in the file's place"])
def test_no_request_waits_for_a_file_that_cannot_be_written(hook: Hook, what: str) -> None:
    if what == "no folder":
        (hook.state.path / "lock").unlink()
        hook.state.path.rmdir()
    else:
        (hook.state.path / CHANGES).mkdir()
    answer = hook.run("management", events=[request(1, QUEUE, "q2")])
    assert answer["verdicts"] == [None]
    assert ("lets PBS go on" in str(answer["logged"])) == (what == "no folder")


def test_it_loads_little_and_reads_nothing_of_the_server(hook: Hook) -> None:
    loaded = hook.run("management", events=[request(1, QUEUE, "q2")])["modules"]
    assert len(loaded) <= 8, loaded
