"""What a job has to say before it is started, and the vnodes that a start names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hooks.act.start_jobs import Starter, find_walltime
from hooks.pbs.client.pbs_ifl_client import Connection
from hooks.pbs.job_attributes.job_altered_since_plan import ALTERED, digest_of_plan
from hooks.pbs.server_status_type_and_attributes import ServerStatus
from policy.model.allocation import parse_exec_vnode
from policy.plan.plan_types import Start
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import RESOURCES, job, server_status, snapshot_of, vnode
from tests.hooks.stand_in import pbs_ifl


@pytest.fixture(autouse=True)
def fresh_server() -> Iterator[None]:
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.WORLD):
        log.clear()
    yield


def requests_at_start(seen: ServerStatus, job_id: str, place: str) -> list[list[str]]:
    """What the server is asked for when the job is started there."""
    snapshot = snapshot_of(seen, Settings())
    with Connection(pbs_ifl) as connection:
        starter = Starter(connection, seen, snapshot.cluster(), {})
        starter.start(Start(job_id, snapshot.jobs[job_id], parse_exec_vnode(place)))
    return [call for call in pbs_ifl.CALLS if call[0] not in ("connect", "disconnect")]


def numa(sharing: str = "default_shared") -> dict[str, dict[str, str]]:
    """A host with two vnodes, and another one."""
    of_h = vnode(resources_available__host="h", sharing=sharing)
    return {"h[0]": of_h, "h[1]": of_h, "i": vnode(resources_available__host="i")}


@pytest.mark.parametrize(
    ("sharing", "place", "named"),
    [
        ("default_shared", "free", "(h[0]:ncpus=2)"),
        ("default_shared", "free:excl", "(h[0]:ncpus=2)"),
        ("default_shared", "free:exclhost", "(h[0]:ncpus=2)+(h[1])"),
        ("default_exclhost", "free", "(h[0]:ncpus=2)+(h[1])"),
        ("default_exclhost", "free:shared", "(h[0]:ncpus=2)"),
        ("force_exclhost", "free:shared", "(h[0]:ncpus=2)+(h[1])"),
        ("ignore_excl", "free:exclhost", "(h[0]:ncpus=2)"),
    ],
)
def test_all_vnodes_of_a_host_that_a_job_gets_alone_are_named(sharing: str, place: str, named: str) -> None:
    seen = server_status({"2.s": job(Resource_List__place=place)}, vnodes=numa(sharing))
    assert requests_at_start(seen, "2.s", "(h[0]:ncpus=2)") == [["start", "2.s", named]]


def test_a_host_that_a_job_holds_whole_is_named_once() -> None:
    seen = server_status({"2.s": job(cores=12, Resource_List__place="free:exclhost")}, vnodes=numa())
    place = "(h[0]:ncpus=8+h[1]:ncpus=4)"
    assert requests_at_start(seen, "2.s", place) == [["start", "2.s", place]]


def test_a_size_of_the_sites_own_is_written_with_its_unit() -> None:
    resources = {**RESOURCES, "scratch": {"type": "size", "flag": "hn"}}
    seen = server_status({"2.s": job(Resource_List__select="1:ncpus=2:scratch=1gb")}, resources=resources)
    assert requests_at_start(seen, "2.s", "(v1:ncpus=2:scratch=1gb)") == [
        ["start", "2.s", "(v1:ncpus=2:scratch=1048576kb)"]
    ]


def test_a_job_that_may_shrink_is_given_its_longest_walltime_first() -> None:
    texts = {**job(), "Resource_List.min_walltime": "00:01:00", "Resource_List.max_walltime": "02:00:00"}
    del texts["Resource_List.walltime"]
    assert requests_at_start(server_status({"2.s": texts}), "2.s", "(v1:ncpus=2)") == [
        ["alter", "2.s", "Resource_List.walltime", "02:00:00"],
        ["start", "2.s", "(v1:ncpus=2)"],
    ]


def test_a_walltime_that_is_there_or_needs_not_be_is_left_alone() -> None:
    assert find_walltime({"Resource_List.walltime": "00:10:00", "Resource_List.max_walltime": "02:00:00"}) == ""
    assert find_walltime({"Resource_List.min_walltime": "00:01:00"}) == ""


def altered_since(seen: ServerStatus, since: ServerStatus, planned: dict[str, str]) -> dict[str, str]:
    """What is found to be altered of the starts of all jobs, which no hook judges."""
    pbs_ifl.WORLD.update(since.to_data())
    snapshot = snapshot_of(seen, Settings())
    with Connection(pbs_ifl) as connection:
        starter = Starter(connection, seen, snapshot.cluster(), planned)
        starts = [Start(job_id, each, parse_exec_vnode("(v1:ncpus=2)")) for job_id, each in snapshot.jobs.items()]
        return starter.find_altered(starts)


def test_a_job_that_its_owner_has_altered_since_the_plan_is_found_before_an_unguarded_start() -> None:
    seen = server_status({"2.s": job(), "3.s": job(), "4.s": job()})
    since = server_status({"2.s": job(), "3.s": job(Resource_List__walltime="99:00:00")})
    starts = snapshot_of(seen, Settings()).jobs
    planned = {job_id: digest_of_plan(seen.jobs[job_id], {}) for job_id in starts}
    altered = altered_since(seen, since, planned)
    assert altered == {"3.s": "cannot start 3.s: " + ALTERED}, "job 4 is gone, which the server says"


def test_a_guarded_start_needs_no_second_look() -> None:
    seen = server_status({"2.s": job()})
    assert altered_since(seen, server_status({"2.s": job(cores=8)}), {}) == {}
    assert [call[0] for call in pbs_ifl.CALLS] == ["connect", "disconnect"]


def test_jobs_that_cannot_be_read_again_do_not_start_unguarded() -> None:
    seen = server_status({"2.s": job()})
    pbs_ifl.UNKNOWN_ATTRIBUTES.clear()
    pbs_ifl.WORLD["ends"] = True
    (why,) = altered_since(seen, seen, {"2.s": "digest"}).values()
    assert "cannot read the jobs" in why
