"""Which dependencies are refused, by the jobs that a server has."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from hooks.admission.submission.dependencies_on_other_jobs import refuse_dependencies

JOBS: dict[str, dict[str, Any]] = {
    "1.pbs": {"Job_Owner": "alice@login", "depend": "on:1"},
    "2.pbs": {"Job_Owner": "alice@pbs", "depend": None},
    "3.pbs": {"Job_Owner": "alice@pbs", "depend": "afterok:9.pbs@pbs"},
    "4.pbs": {"Job_Owner": "bob@pbs", "depend": "on:1"},
    "5[].pbs": {"Job_Owner": "alice@pbs", "depend": "on:1", "array_state_count": "Queued:1 Running:2 Exiting:0"},
    "6[].pbs": {"Job_Owner": "alice@pbs", "depend": "on:1", "array_state_count": "Queued:3 Running:0 Exiting:0"},
    "7.peer": {"Job_Owner": "bob@peer", "depend": None},
    "10.pbs": {"Job_Owner": "alice@pbs", "depend": "on:1", "job_state": 9},
    "11.pbs": {"Job_Owner": "alice@pbs", "depend": "runone:12.pbs@pbs"},
    "13.pbs": {"Job_Owner": "alice@pbs", "depend": "runone:10.pbs@pbs:99.pbs@pbs"},
    "12.pbs": {"Job_Owner": "alice@pbs", "depend": "after:2.pbs@pbs,runone:11.pbs@pbs"},
}


class Pbs:
    """A server of these jobs, and an event with this ``depend``; counts what is asked of the server."""

    JOB_STATE_MOVED, JOB_STATE_FINISHED = 8, 9

    def __init__(self, depend: str | None, user: str = "alice") -> None:
        self.calls: list[str] = []
        self.pbs_conf = {"PBS_SERVER": "pbs", "PBS_PRIMARY": "primary.site.org"}
        job = SimpleNamespace(depend=depend)
        self.given = SimpleNamespace(job=job, requestor=user, requestor_host="login")

    def event(self) -> Any:
        return self.given

    def server(self) -> Any:
        self.calls.append("server")
        own = {"name": "pbs", "server_host": "pbs.site.org", "managers": "olga@*", "operators": None}
        return SimpleNamespace(job=self.job, **own)

    def job(self, job_id: str) -> Any:
        self.calls.append(job_id)
        return SimpleNamespace(**{"job_state": 2, **JOBS[job_id]}) if job_id in JOBS else None


def refuse(depend: str, servers: str = "own", before: Any = None, user: str = "alice") -> str:
    return refuse_dependencies(Pbs(depend, user), servers, before)


@pytest.mark.parametrize("kind", ["before", "beforeok", "beforenotok", "beforeany", "runone"])
def test_what_only_owners_may_register_names_ones_own_jobs(kind: str) -> None:
    bobs = f"its depend names job 4.pbs ({kind}), which is not a job of alice's"
    assert refuse(f"{kind}:4.pbs").startswith(bobs)
    assert refuse(f"on:1,{kind}:1.pbs:4.pbs").startswith(bobs)
    assert "which this server does not know" in refuse(f"{kind}:99.pbs")
    assert not refuse(f"{kind}:1.pbs:6[].pbs@pbs")
    assert not refuse(f"{kind}:4.pbs", user="bob")
    assert not refuse(f"{kind}:4.pbs", user="olga"), "a manager"


def test_at_an_alteration_the_jobs_owner_counts_not_who_alters_it() -> None:
    bobs = SimpleNamespace(id="20.pbs", Job_Owner="bob@pbs")
    assert not refuse("beforeok:4.pbs", before=bobs)
    assert "which is not a job of bob's" in refuse("beforeok:1.pbs", before=bobs)


def test_a_before_names_a_job_that_waits_for_one() -> None:
    assert "give it -W depend=on:1 first" in refuse("beforeok:2.pbs")
    assert "give it -W depend=on:1 first" in refuse("beforeany:3.pbs")
    assert not refuse("beforeok:3.pbs"), "it is registered already, as when a job is altered again"
    assert not refuse("runone:2.pbs:3.pbs")


def test_no_array_of_which_subjobs_run_is_aborted_by_a_dependency() -> None:
    assert "an array of which subjobs run" in refuse("beforeok:5[].pbs")
    assert not refuse("runone:5[].pbs:6[].pbs")
    begun, waiting = (SimpleNamespace(id=each, **JOBS[each]) for each in ("5[].pbs", "6[].pbs"))
    assert "gets no dependency" in refuse("afterok:2.pbs", before=begun)
    assert not refuse("afterok:2.pbs", before=waiting)
    assert not refuse("", before=begun)


def test_jobs_that_have_ended_are_no_targets() -> None:
    """PBS would still write the dependency into what it keeps of them."""
    for kind in ("beforeok", "runone"):
        assert "which has ended or is no longer here" in refuse(f"{kind}:10.pbs")
    assert not refuse("afterok:10.pbs")


def test_a_job_is_altered_into_a_group_of_alternatives_as_a_whole() -> None:
    mine = SimpleNamespace(id="20.pbs", Job_Owner="alice@pbs")
    refusal = "one of a group of which it does not name job 12.pbs: name them all"
    assert refusal in refuse("runone:11.pbs", before=mine)
    assert not refuse("runone:11.pbs:12.pbs", before=mine)
    assert not refuse("runone:11.pbs@PBS:12.pbs:2.pbs", before=mine)
    assert not refuse("runone:11.pbs"), "a submission is linked with all of them by PBS"
    member = SimpleNamespace(id="12.pbs", Job_Owner="alice@pbs")
    assert not refuse("runone:11.pbs", before=member)
    assert not refuse("runone:13.pbs", before=mine), "all others of that group have ended"


@pytest.mark.parametrize("server", [r"m1\:20001", r"pbs\:15001", "127.0.0.1", "pbs.elsewhere.org", "site.org", "peer"])
@pytest.mark.parametrize("kind", ["after", "afterok", "afternotok", "afterany", "before", "runone"])
def test_jobs_are_at_this_server_by_a_name_that_needs_no_look_up(kind: str, server: str) -> None:
    assert "allowed are jobs at this server" in refuse(f"{kind}:1.pbs:1.pbs@{server}")
    assert not refuse(f"afterok:1.pbs@{server}", "any")


@pytest.mark.parametrize("server", ["pbs", "PBS", "pbs.site.org", "primary.site.org", "primary"])
def test_all_known_names_are_this_servers(server: str) -> None:
    assert not refuse(f"before:1.pbs@{server}")
    assert not refuse(f"after:7.peer@{server}"), "a job that was moved here"


def test_where_other_servers_are_allowed_their_names_hide_no_job_of_this_one() -> None:
    assert not refuse("beforeok:8.peer@peer", "any")
    assert "which is not a job of alice's" in refuse("beforeok:4.pbs@127.0.0.1", "any")
    assert "which this server does not know" in refuse("beforeok:99.pbs", "any")


def test_longer_names_than_pbs_has_room_for_are_refused() -> None:
    assert "with 259 characters; allowed are 255" in refuse("after:" + "9" * 255 + ".pbs")
    assert "with 256 characters; allowed are 255" in refuse("after:1.pbs@" + "h" * 256, "any")


def test_an_event_without_a_depend_asks_the_server_for_nothing() -> None:
    for depend in (None, "", "on:1", "afterok:1.pbs"):
        pbs = Pbs(depend)
        assert not refuse_dependencies(pbs, "own", SimpleNamespace(id="20.pbs", Job_Owner="alice@pbs"))
        assert pbs.calls == []


def test_each_named_job_is_looked_at_once_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    pbs = Pbs("runone:" + ":".join(["1.pbs"] * 400 + ["2.pbs"]))
    assert not refuse_dependencies(pbs, "own")
    assert pbs.calls == ["server", "1.pbs", "2.pbs"]
    times = iter(range(9))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(times)))
    assert refuse("runone:1.pbs:2.pbs") == "its depend names more jobs than can be looked at in 1 s"
