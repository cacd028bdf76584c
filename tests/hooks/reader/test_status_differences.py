"""Answers by differences, on a simulated server: patched pictures equal read ones, whatever happened in between."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from hooks.pbs.client.pbs_ifl_client import Connection, IflError
from hooks.reader.apply_status_differences import Assembly
from hooks.reader.status_differences import WHOLE_AGAIN_S, Differences
from tests.hooks.sample_server_statuses import job, running, server_status
from tests.hooks.stand_in import pbs_ifl

NOW_S = 1_790_000_000.0
STATES = {"Transit": "T", "Queued": "Q", "Held": "H", "Waiting": "W", "Running": "R", "Exiting": "E", "Begun": "B"}


class Site:
    """The stand-in's server, with a clock, and a watcher of it."""

    def __init__(self) -> None:
        self.now_s = NOW_S
        self.differences = Differences()
        self.assembly = Assembly()
        self.parts: list[dict[str, Any]] = []
        self.jobs: dict[str, dict[str, str]] = pbs_ifl.WORLD["jobs"]
        for job_id in self.jobs:
            self.touch(job_id)

    def touch(self, job_id: str, **texts: str) -> None:
        self.jobs[job_id] = {**self.jobs[job_id], **texts, "mtime": str(int(self.now_s))}

    def look(self) -> Any:
        """The picture that the watcher has after another answer."""
        states = [texts["job_state"] for texts in self.jobs.values()]
        counts = " ".join(f"{word}:{states.count(letter)}" for word, letter in STATES.items())
        pbs_ifl.WORLD["server"]["state_count"] = counts
        with Connection(pbs_ifl) as connection:
            self.parts = list(self.differences.answer(connection, self.now_s))
        taken = [self.assembly.take(part) for part in self.parts]
        assert taken[:-1] == [None] * (len(taken) - 1)
        return taken[-1]

    def read(self) -> Any:
        """The picture that is read anew."""
        with Connection(pbs_ifl) as connection:
            return connection.read_server_status(self.now_s)

    def ids_sent(self, kind: str) -> list[str]:
        return [row[1] for part in self.parts for row in part.get(kind, ())]


@pytest.fixture
def site() -> Iterator[Site]:
    pbs_ifl.WORLD.clear()
    jobs = {"12.server": running(), "13.server": job(), "8[].server": job("B"), "8[2].server": running(1)}
    pbs_ifl.WORLD.update(server_status(jobs).to_data())
    for log in (pbs_ifl.CALLS, pbs_ifl.REFUSALS, pbs_ifl.UNKNOWN_ATTRIBUTES, pbs_ifl.FREED):
        log.clear()
    yield Site()


def without_counts(seen: Any) -> dict[str, Any]:
    data: dict[str, Any] = seen.to_data()
    data["server"].pop("state_count", None)
    return data


def test_the_first_answer_is_whole_and_the_second_tells_what_changed(site: Site) -> None:
    assert without_counts(site.look()) == without_counts(site.read())
    for comment in ("later", "still later"):
        site.now_s += 5
        site.touch("13.server", comment=comment)
        assert without_counts(site.look()) == without_counts(site.read())
    assert "13.server" in site.ids_sent("jobs")
    assert "12.server" not in site.ids_sent("jobs")
    assert site.ids_sent("vnodes") == []


def test_a_job_that_vanished_is_reported_once(site: Site) -> None:
    site.look()
    del site.jobs["13.server"]
    assert "13.server" not in site.look().jobs
    assert {"gone": {"jobs": ["13.server"], "vnodes": []}} in site.parts
    site.look()
    assert not any("gone" in part for part in site.parts)


def test_an_array_takes_its_subjobs_along(site: Site) -> None:
    site.look()
    del site.jobs["8[].server"], site.jobs["8[2].server"]
    assert list(site.look().jobs) == ["12.server", "13.server"]


def test_a_subjob_that_ended_is_gone_without_a_list_of_all_jobs(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.look()
    site.now_s += 5
    site.touch("8[2].server", job_state="X")
    monkeypatch.delattr(Connection, "read_states")
    assert list(site.look().jobs) == ["12.server", "13.server", "8[].server"]
    assert {"gone": {"jobs": ["8[2].server"], "vnodes": []}} in site.parts


def test_a_subjob_that_starts_is_reported_and_one_that_waits_is_not(site: Site) -> None:
    site.look()
    site.now_s += 5
    site.jobs.update({"8[3].server": running(1), "8[4].server": job()})
    site.touch("8[3].server")
    site.touch("8[4].server")
    site.look()
    assert "8[3].server" in site.ids_sent("jobs")
    assert "8[4].server" not in site.ids_sent("jobs")


def test_a_vnode_that_differs_is_reported_and_one_that_is_gone_too(site: Site) -> None:
    site.look()
    pbs_ifl.WORLD["vnodes"]["v1"] = {**pbs_ifl.WORLD["vnodes"]["v1"], "state": "offline"}
    assert site.look().vnodes["v1"]["state"] == "offline"
    assert site.ids_sent("vnodes") == ["v1"]
    del pbs_ifl.WORLD["vnodes"]["v1"]
    assert "v1" not in site.look().vnodes


def test_a_state_that_changed_in_silence_is_seen_by_the_counts(site: Site) -> None:
    site.look()
    site.now_s += 5
    site.touch("12.server")
    site.look()
    site.jobs["13.server"] = {**site.jobs["13.server"], "job_state": "H"}
    assert site.look().jobs["13.server"]["job_state"] == "H"


def start_and_look_on(site: Site) -> None:
    """Job 13 begins to start; looks follow, the last one at a change of another job."""
    site.now_s += 5
    site.touch("13.server", job_state="R", substate="41")
    site.look()
    site.now_s += 5
    site.touch("12.server")
    site.look()


def test_a_job_that_starts_is_read_until_it_runs(site: Site) -> None:
    start_and_look_on(site)
    site.jobs["13.server"] = {**site.jobs["13.server"], "substate": "42"}
    assert site.look().jobs["13.server"]["substate"] == "42"
    site.look()
    assert "13.server" not in site.ids_sent("jobs")


def test_a_job_that_vanishes_while_it_starts_is_gone(site: Site) -> None:
    start_and_look_on(site)
    del site.jobs["13.server"]
    assert "13.server" not in site.look().jobs


def test_after_a_while_and_after_an_error_the_answer_is_whole_again(site: Site) -> None:
    site.look()
    site.look()
    assert {"anew": True} not in site.parts
    site.now_s += WHOLE_AGAIN_S
    site.look()
    assert {"anew": True} in site.parts
    pbs_ifl.WORLD["away"] = True
    with pytest.raises(IflError):
        site.look()
    del pbs_ifl.WORLD["away"]
    site.differences.forget()
    site.look()
    assert {"anew": True} in site.parts


@pytest.mark.parametrize("seed", range(20))
def test_the_patched_picture_equals_one_read_anew_after_any_changes(site: Site, seed: int) -> None:
    chance = random.Random(seed)
    number = 100
    for _ in range(15):
        for _ in range(chance.randrange(4)):
            plain = [job_id for job_id in site.jobs if "[" not in job_id]
            change = chance.choice(("submit", "delete", "hold", "alter", "run", "subjob", "vnode"))
            if change == "submit":
                number += 1
                site.jobs[f"{number}.server"] = job()
                site.touch(f"{number}.server")
            elif change == "subjob":
                site.jobs.pop("8[2].server", None) or site.jobs.update({"8[2].server": running(1)})
                if "8[2].server" in site.jobs:
                    site.touch("8[2].server")
            elif change == "vnode":
                vnode = pbs_ifl.WORLD["vnodes"]["v1"]
                pbs_ifl.WORLD["vnodes"]["v1"] = {**vnode, "state": chance.choice(("free", "offline", "down"))}
            elif plain:
                job_id = chance.choice(plain)
                if change == "delete":
                    del site.jobs[job_id]
                else:
                    state = {"hold": "H", "run": "R"}.get(change, site.jobs[job_id]["job_state"])
                    site.touch(job_id, job_state=state, comment=f"{change} {chance.random()}")
        site.now_s += chance.choice((0, 1, 5))
        assert without_counts(site.look()) == without_counts(site.read())
