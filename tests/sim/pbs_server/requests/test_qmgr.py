"""qmgr lines on the simulated server: what they change, what `print` gives back, and how refusals are worded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.pbs_server.objects.clock import Clock
from sim.pbs_server.requests.qmgr import run_line
from sim.pbs_server.server import SimServer


def make_server() -> SimServer:
    server = SimServer("sim", Clock(1_000_000.0))
    server.add_queue("workq")
    server.add_vnode("v1", {"ncpus": "4", "mem": "16gb"})
    return server


@pytest.fixture
def server() -> SimServer:
    return make_server()


def run(server: SimServer, *lines: str) -> str:
    """Run lines that must all be taken; what the last one printed."""
    text = ""
    for line in lines:
        reply = run_line(server, line)
        assert reply.ok, (line, reply.text)
        text = reply.text
    return text


LIMIT = "max_run_res_soft.ncpus"


def limit(server: SimServer) -> str:
    return server.queues["workq"].get(LIMIT, "")


def test_adding_to_a_limit_replaces_the_same_entity(server: SimServer) -> None:
    run(server, f"set queue workq {LIMIT} = [u:alice=4]", f"set queue workq {LIMIT} += '[u:bob=8],[u:alice=5]'")
    assert limit(server) == "[u:alice=5],[u:bob=8]"


def test_taking_from_a_limit_wants_the_value_that_is_there(server: SimServer) -> None:
    run(server, f"set queue workq {LIMIT} = '[u:alice=4],[u:bob=8]'", f"set queue workq {LIMIT} -= [u:alice=9]")
    assert limit(server) == "[u:alice=4],[u:bob=8]"
    run(server, f"set queue workq {LIMIT} -= [u:alice=4]")
    assert limit(server) == "[u:bob=8]"
    run(server, f"set queue workq {LIMIT} -= [u:bob=8]")
    assert limit(server) == ""


def test_several_attributes_at_once_or_none(server: SimServer) -> None:
    run(server, "set queue workq Priority = 5, started = false")
    assert (server.queues["workq"]["Priority"], server.queues["workq"]["started"]) == ("5", "False")
    assert not run_line(server, "set queue workq Priority = 6, started = perhaps").ok
    assert server.queues["workq"]["Priority"] == "5"


def test_the_servers_scheduling_is_its_default_schedulers(server: SimServer) -> None:
    run(server, "set server scheduling = false")
    assert server.scheds["default"]["scheduling"] == "False"
    run(server, "set sched default scheduling = true")
    assert server.texts["scheduling"] == "True"


def test_a_vnode_goes_offline_and_comes_back(server: SimServer) -> None:
    run(server, "set node v1 state += offline", "set node v1 comment = 'fan 2'")
    assert run(server, "list node v1 state,comment") == "Node v1\n    state = offline\n    comment = fan 2\n\n"
    run(server, "set node v1 state -= offline", "unset node v1 comment")
    assert run(server, "list node v1 state") == "Node v1\n    state = free\n\n"


def test_a_resource_that_goes_takes_its_values_along(server: SimServer) -> None:
    run(server, "create resource colour type=string", "set queue workq resources_available.colour = blue")
    run(server, "delete resource colour")
    assert "resources_available.colour" not in server.queues["workq"]


def test_a_queue_with_jobs_stays(server: SimServer) -> None:
    job = server.submit("alice", "chem", {}, 60.0)
    assert run_line(server, "delete queue workq").text.startswith(
        "qmgr obj=workq svr=default: Cannot delete busy object"
    )
    server.delete_job(job)
    run(server, "delete queue workq")
    assert server.queues == {}


REFUSED = {
    "set queue nosuch enabled=true": (
        "qmgr obj=nosuch svr=default: Unknown queue\nqmgr: Error (15018) returned from server"
    ),
    "set queue workq enabld=true": (
        "qmgr obj=workq svr=default: Undefined attribute \nqmgr: Error (15002) returned from server"
    ),
    f"set queue workq {LIMIT} = [u:alice=x]": (
        f"qmgr obj=workq svr=default: Illegal attribute or resource value {LIMIT}\n"
        "qmgr: Error (15014) returned from server"
    ),
    f"set queue workq {LIMIT} = [u:alice=1],[u:bob=2]": (
        "qmgr obj=workq svr=default: Undefined attribute \nqmgr: Error (15002) returned from server"
    ),
    "set queue workq started": "qmgr: Syntax error\nset queue workq started\n                       ^",
    "frobnicate queue x": "qmgr: Illegal operation: frobnicate\nTry 'help' if you are having trouble.",
    "set widget x y=1": "qmgr: Illegal object type: widget.",
    "set queue workq total_jobs = 4": (
        "qmgr obj=workq svr=default: Cannot set attribute, read only or insufficient permission  total_jobs\n"
        "qmgr: Error (15003) returned from server"
    ),
    "": "qmgr: Illegal operation: \nTry 'help' if you are having trouble.",
}


@pytest.mark.parametrize("line", REFUSED)
def test_refusals_are_worded_as_qmgr_words_them(server: SimServer, line: str) -> None:
    before = dict(server.queues["workq"])
    reply = run_line(server, line)
    assert (reply.ok, reply.text) == (False, REFUSED[line])
    assert server.queues["workq"] == before


ENTITIES = st.tuples(st.sampled_from("ugp"), st.from_regex(r"[a-z][a-z0-9_]{0,7}|PBS_GENERIC", fullmatch=True))


@given(
    st.dictionaries(ENTITIES, st.integers(0, 10**6), max_size=6),
    st.integers(-1024, 1023),
    st.booleans(),
    st.from_regex(r"[a-z0-9][a-z0-9 ,.;:#+(){}|!?*/-]{0,20}", fullmatch=True),
)
def test_what_print_gives_makes_the_same_queue_again(
    limits: dict[tuple[str, str], int], priority: int, started: bool, comment: str
) -> None:
    server = make_server()
    for (kind, name), value in limits.items():
        run(server, f"set queue workq {LIMIT} += [{kind}:{name}={value}]")
    run(server, f"set queue workq Priority = {priority}, started = {started}", f'set queue workq comment = "{comment}"')
    other = make_server()
    del other.queues["workq"]
    for line in run(server, "print queue workq").splitlines():
        if not line.startswith("#"):
            run(other, line)
    assert other.queues["workq"] == server.queues["workq"]


@given(st.text(max_size=80))
def test_any_line_is_taken_or_refused(line: str) -> None:
    run_line(make_server(), line)


@given(st.sampled_from(list(REFUSED)), st.integers(0, 60), st.text(max_size=4))
def test_any_damaged_line_is_taken_or_refused(line: str, position: int, text: str) -> None:
    run_line(make_server(), line[:position] + text + line[position:])
