"""``pbsteer when`` for a job that is not submitted: its moments, what would start sooner, and what is refused."""

from __future__ import annotations

import pytest

from hooks.forecast.published_forecast import Estimate
from tests.tui.cli.read_commands.when_job_starts.when_command import ENDS_S, data, publish, unwrapped, when
from tests.tui.scripted_server import NOON_S, ScriptedBackend, changed
from tui.forecast.job_not_submitted_yet import NEW_JOB


def test_a_job_not_submitted_and_what_would_start_sooner(backend: ScriptedBackend) -> None:
    alone = {job: texts for job, texts in backend.server_status.jobs.items() if job != "16[].hpc1"}
    backend.server_status = changed(backend.server_status, jobs=alone)
    found = data("-l", "select=2:ncpus=4", "-l", "walltime=01:00:00", "-q", "workq", "-u", "bob")
    assert found["starts_half_s"] == ENDS_S
    names = [each["name"] for each in found["alternatives"]]
    assert names == ["with half the walltime, 0:30:00", "with half as many chunks, 1:ncpus=4", "in queue gpu"]
    fewer = found["alternatives"][1]
    assert fewer["starts_half_s"] == NOON_S, "four cores of v2 are idle"
    assert fewer["request"]["select"] == "1:ncpus=4"
    text = when("-l", "select=2:ncpus=4,walltime=1:00:00", "-u", "bob", "-q", "workq")
    assert "a job submitted now by bob to workq" in text
    assert text.index("half as many chunks") < text.index("half the walltime"), "the soonest first"


def test_of_a_request_that_never_fits_only_alternatives_that_start_are_listed(backend: ScriptedBackend) -> None:
    there = backend.server_status.vnodes
    own_hosts = {name: {**texts, "resources_available.host": name} for name, texts in there.items()}
    backend.server_status = changed(backend.server_status, vnodes=own_hosts)
    asked = ("-l", "select=1:ncpus=10", "-l", "walltime=1:00:00", "-q", "workq", "-u", "dave")
    found, text = data(*asked), when(*asked)
    assert "for lack of ncpus=10 for each" in found["never"]
    split = "with the same cores in smaller chunks, 2:ncpus=5"
    assert [each["name"] for each in found["alternatives"]] == [split]
    assert found["alternatives"][0]["starts_half_s"] is not None
    assert [each["name"] for each in found["without_start"]] == ["with half the walltime, 0:30:00", "in queue gpu"]
    assert all("ncpus=10" in each["never"] for each in found["without_start"])
    assert text.index("what might start sooner") < text.index(split) < text.index("no start")
    assert "with half the walltime, 0:30:00 (never); in queue gpu (never)" in unwrapped(text)


def test_where_nothing_starts_one_line_says_so_with_why_it_never_fits(backend: ScriptedBackend) -> None:
    asked = ("-l", "select=1:ncpus=4099", "-l", "walltime=1:00:00", "-q", "workq", "-u", "dave")
    found, text = data(*asked), when(*asked)
    assert found["alternatives"] == []
    assert "nothing that was tried starts sooner" in text
    assert "what might start sooner" not in text
    assert "for lack of ncpus=4099 for each" in unwrapped(text)
    assert found["forecast"]["draws"] == 0, "that it never fits needs no forecast"
    assert "cases" not in text


def test_an_alternative_that_starts_no_sooner_is_not_among_those_that_might(backend: ScriptedBackend) -> None:
    alone = {job: texts for job, texts in backend.server_status.jobs.items() if job != "16[].hpc1"}
    backend.server_status = changed(backend.server_status, jobs=alone)
    text = when("-l", "select=2:ncpus=4,walltime=1:00:00", "-u", "bob", "-q", "workq")
    assert "no sooner           with half the walltime, 0:30:00" in text


def test_nothing_is_said_to_start_sooner_than_now(backend: ScriptedBackend) -> None:
    alone = {job: texts for job, texts in backend.server_status.jobs.items() if job != "16[].hpc1"}
    backend.server_status = changed(backend.server_status, jobs=alone)
    text = when("-l", "select=1:ncpus=1,walltime=1:00:00", "-u", "zoe", "-q", "workq")
    assert "in nine of ten now" in text
    assert "sooner" not in text


def test_it_gets_the_defaults_of_its_queue_and_the_server(backend: ScriptedBackend) -> None:
    more = {"resources_default.walltime": "01:00:00", "resources_default.place": "scatter", "default_chunk.mem": "1gb"}
    backend.set_queue("workq", **more)
    backend.server_status = changed(
        backend.server_status, server={**backend.server_status.server, "default_queue": "workq"}
    )
    found = data("-l", "select=1:ncpus=4")
    assert found["request"] == {"select": "1:ncpus=4:mem=1gb", "walltime": "01:00:00", "place": "scatter"}
    found = data("-l", "ncpus=4")
    assert found["request"] == {"select": "1:ncpus=4:mem=1gb", "walltime": "01:00:00"}, "PBS packs what has no select"


def test_what_is_not_asked_for_is_as_pbs_sets_it(backend: ScriptedBackend) -> None:
    """Defaults of the queue and the server, then the largest amounts that they allow; cores and memory become one
    chunk where no select is given (``set_resc_deflt``)."""
    more = {"resources_default.ncpus": "8", "resources_default.mem": "4gb", "resources_max.walltime": "48:00:00"}
    backend.set_queue("workq", **more)
    limits = {"resources_max.walltime": "24:00:00", "resources_max.ncpus": "99", "resources_default.mem": "1gb"}
    backend.server_status = changed(backend.server_status, server={**backend.server_status.server, **limits})
    assert data("-l", "software=x", "-q", "workq")["request"] == {
        "select": "1:ncpus=8:mem=4gb", "walltime": "48:00:00", "software": "x",
    }  # fmt: skip
    assert data("-l", "ncpus=2", "-q", "workq")["request"]["select"] == "1:ncpus=2:mem=4gb"
    assert data("-l", "select=1:ncpus=2", "-q", "workq")["request"] == {"select": "1:ncpus=2", "walltime": "48:00:00"}
    backend.set_queue("workq", **{"resources_default.select": "2:ncpus=3"})
    assert data("-l", "walltime=1:00", "-q", "workq")["request"]["select"] == "2:ncpus=3"


def test_the_servers_limit_counts_only_where_the_queue_has_none(backend: ScriptedBackend) -> None:
    limits = {"resources_max.walltime": "01:00:00", "resources_max.ncpus": "2", "resources_min.walltime": "00:30:00"}
    backend.server_status = changed(backend.server_status, server={**backend.server_status.server, **limits})
    asked = ("-l", "select=1:ncpus=4", "-q", "workq")
    assert data(*asked, "-l", "walltime=2:00:00")["refused"] == [
        "the server takes walltimes up to 01:00:00",
        "the server takes jobs of up to 2 cores",
    ]
    assert data(*asked, "-l", "walltime=0:10:00")["refused"] == ["the server takes jobs of up to 2 cores"]
    backend.set_queue("workq", **{"resources_max.walltime": "03:00:00", "resources_max.ncpus": "16"})
    assert data(*asked, "-l", "walltime=2:00:00")["refused"] == []


@pytest.mark.parametrize(
    ("acl_users", "is_refused"),
    [
        ("-bob,+*", True),
        ("bob@other,-carol", False),
        ("alice", True),
        ("-alice,+", False),
        ("+,-bob", True),
        ("", True),
    ],
)
def test_the_first_entry_of_a_list_that_names_a_user_decides(
    backend: ScriptedBackend, acl_users: str, is_refused: bool
) -> None:
    backend.set_queue("workq", acl_user_enable="True", acl_users=acl_users)
    refused = data("-l", "select=1:ncpus=1", "-q", "workq", "-u", "bob")["refused"]
    assert refused == (["queue workq does not take jobs of bob (acl_users)"] if is_refused else [])


def test_what_pbs_would_refuse_is_reported(backend: ScriptedBackend) -> None:
    limits = {"resources_max.walltime": "01:00:00", "resources_max.ncpus": "2", "enabled": "False"}
    backend.set_queue("workq", **limits, acl_user_enable="True", acl_users="alice,carol")
    found = data("-l", "select=1:ncpus=4", "-l", "walltime=2:00:00", "-q", "workq", "-u", "bob")
    assert found["refused"] == [
        "queue workq does not take jobs of bob (acl_users)",
        "queue workq takes walltimes up to 01:00:00",
        "queue workq takes jobs of up to 2 cores",
        "queue workq takes no jobs now (enabled = False)",
    ]
    assert "but PBS refuses it" in when("-l", "select=1:ncpus=4", "-q", "workq", "-u", "bob")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give either JOB, or a request"),
        (("13", "-l", "select=1"), "give either JOB, or a request"),
        (("13", "-q", "workq"), "-q and -u belong to -l"),
        (("-l", "select"), "allowed is NAME=VALUE"),
        (("-l", "select=1:ncpus=x"), "-l: "),
        (("-l", "select=1", "-l", "select=2"), "-l select is given twice"),
        (("-l", "nodes=2:ppn=4"), "PBS's old form"),
        (("-l", "select=1", "-l", "mem=4gb"), "go into the select"),
        (("-l", "ncpus=4", "-l", "place=scatter"), "-l place= needs -l select="),
        (("-l", "walltime=soon"), "-l: "),
        (("-l", "select=1", "-q", "\x1b[2J"), "no queue of this server"),
    ],
)
def test_what_is_not_understood_is_named_with_what_is_allowed(
    backend: ScriptedBackend, words: tuple[str, ...], said: str
) -> None:
    output = when(*words, status=1 if "-q" in words and "-l" in words else 2)
    assert said in " ".join(output.split())
    assert "\x1b" not in output


def test_the_imagined_job_never_meets_one_of_the_servers(backend: ScriptedBackend) -> None:
    assert NEW_JOB not in backend.server_status.jobs
    assert not NEW_JOB.endswith(".hpc1")


def test_a_resource_that_the_server_does_not_have_is_refused(backend: ScriptedBackend) -> None:
    misspelt = ("-q", "workq", "-l", "select=1:ncpus=4", "-l", "walltim=1:00:00")
    assert data(*misspelt)["refused"] == [], "the server lists only some"
    known = {name: {"type": "long"} for name in ("ncpus", "mem", "walltime")}
    backend.server_status = changed(backend.server_status, resources=known)
    assert "no resource 'walltim'" in when(*misspelt, status=1)
    assert "no resource 'ngpus'" in when("-q", "workq", "-l", "select=1:ncpus=4:ngpus=1", status=1)
    right = ("-l", "select=1:ncpus=4:mem=1gb", "-l", "walltime=1:00:00", "-l", "place=scatter")
    assert data("-q", "workq", *right)["refused"] == []


def test_what_starts_beyond_the_forecast_says_what_it_waits_for(backend: ScriptedBackend) -> None:
    asked = ("-l", "select=1:ncpus=64", "-l", "walltime=1:00:00", "-q", "workq", "-u", "dave")
    assert "64" in data(*asked)["waits_for"]
    assert data("14")["starts_last_s"] is None
    assert "64" in data("14")["waits_for"]
    publish(backend, 60, j14=Estimate(None, None, None))
    assert data("14")["forecast"]["by"] == "the passes"
    assert "64" in data("14")["waits_for"]
    assert data("13")["waits_for"] == ""
    publish(backend, 60, j13=Estimate(None, None, None))
    text = unwrapped(when("13"))
    assert "later than" in text
    assert "waits for" in text
    assert data("13")["waits_for"] in text


def test_what_stands_behind_a_run_without_walltime_says_what_it_waits_for(backend: ScriptedBackend) -> None:
    """Such a run, of a user without history, has no end that a forecast knows."""
    jobs = dict(backend.server_status.jobs)
    for job_id in ("11.hpc1", "12.hpc1"):
        jobs[job_id] = {name: text for name, text in jobs[job_id].items() if name != "Resource_List.walltime"}
    backend.server_status = changed(backend.server_status, jobs=jobs)
    asked = ("-l", "select=1:ncpus=8", "-l", "walltime=1:00:00", "-q", "workq", "-u", "dave")
    for words in (("13",), asked):
        found = data(*words)
        assert (found["starts_half_s"], found["starts_last_s"]) == (None, None)
        assert "needs 8 cores" in found["waits_for"]
        assert f"waits for {found['waits_for']}" in unwrapped(when(*words))
