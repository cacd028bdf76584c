"""What a command of the audit asks for, in whichever of its spellings."""

from __future__ import annotations

import pytest

from tui.audit.request_of_command import Request, request_of

LIMIT = "max_run_res_soft.ncpus"


@pytest.mark.parametrize(
    ("command", "request_"),
    [
        ("set node n1 state += offline", Request("set", "node", "n1", "state += offline")),
        ("qmgr -c 'set queue workq started = True'", Request("set", "queue", "workq", "started = True")),
        (
            f"qmgr -c 'set queue workq {LIMIT} += \"[u:a=1],[u:b=2]\"'",
            Request("set", "queue", "workq", f'{LIMIT} += "[u:a=1],[u:b=2]"'),
        ),
        ("set server scheduling = False", Request("set", "server", "", "scheduling = False")),
        ("create node n2", Request("create", "node", "n2")),
        (f"unset queue workq {LIMIT}", Request("unset", "queue", "workq", LIMIT)),
        ("pbsnodes -o -N 'new disk' n1", Request("set", "node", "n1", "state =")),
        (
            "edit-settings /etc/p.toml workq quotas.ncpus '[u:a=none]'",
            Request("set", "queue", "workq", f"{LIMIT} += [u:a=none]"),
        ),
        (
            "edit-settings /etc/p.toml workq mode drive",
            Request("set", "queue", "workq", "resources_available.pbsteer_mode = drive"),
        ),
        ("edit-settings /etc/p.toml @server paused works", Request("set", "server", "", "paused = works")),
        ("edit-settings x", None),
        ("qdel 17.n1host", None),
        ("pbsteer quota plan 'december.csv", None),
        ("", None),
    ],
)
def test_a_command_is_read_in_the_words_of_qmgr(command: str, request_: Request | None) -> None:
    assert request_of(command) == request_


@pytest.mark.parametrize(
    ("attributes", "what", "entry", "asks"),
    [
        ("state += offline", "state", "", True),
        ('state -= offline, comment = "x"', "state", "", True),
        ("comment = new state", "state", "", False),
        ("comment = x, state += offline", "state", "", True),
        (f"{LIMIT} += [u:alice=4],[u:bob=8]", LIMIT, "u:bob", True),
        (f"{LIMIT} += [u:alice2=4]", LIMIT, "u:alice", False),
        (f"{LIMIT} += [u:alice=4]", "max_run_res_soft.ncpus2", "u:alice", False),
        (f"{LIMIT} = [u:alice=4]", LIMIT, "u:bob", True),
        ("started = True", "create", "", False),
    ],
)
def test_what_is_asked_for_is_told_by_whole_names(attributes: str, what: str, entry: str, asks: bool) -> None:
    assert Request("set", "queue", "workq", attributes).asks(what, entry) is asks


def test_the_removal_of_a_whole_limit_asks_for_each_entry() -> None:
    request = Request("unset", "queue", "workq", f"enabled, {LIMIT}")
    assert (request.asks(LIMIT, "u:alice"), request.asks("started")) == (True, False)
