"""A running subjob counts by its own attributes, whatever its array was altered to since it started."""

from __future__ import annotations

from hooks.pbs.server_status_type_and_attributes import JOB_ATTRIBUTES
from hooks.translate.snapshot import translate
from policy.settings.site_settings import Settings
from tests.hooks.sample_server_statuses import job, running, server_status

SETTINGS = Settings()


def test_a_running_subjob_has_its_own_project_and_request_and_is_its_arrays() -> None:
    array = job("B", 1, array_indices_remaining="3-5", project="cheap")
    started = running(4, project="dear", Resource_List__walltime="02:00:00")
    same = {name: array[name] for name in array if name.startswith("Resource_List.") or name == "project"}
    other = {**running(1, "v2"), **same}
    jobs = {"8[].server": array, "8[1].server": started, "8[2].server": other}
    snapshot = translate(server_status(jobs), SETTINGS).snapshot
    first, second = snapshot.runs["8[1].server"], snapshot.runs["8[2].server"]
    assert (first.job.project, first.job.cores, first.job.id) == ("dear", 4, "8[].server")
    assert (first.job.estimate_s, first.job.subjobs) == (7200.0, (3, 4, 5))
    assert (second.job.project, second.job.cores) == ("cheap", 1)
    assert snapshot.jobs["8[].server"].project == "cheap"


def test_how_often_a_job_has_run_as_its_owner_says_feeds_no_decision() -> None:
    assert "run_count" not in JOB_ATTRIBUTES
    plain, forged = ({"1.server": {**job("Q", 2), **more}} for more in ({}, {"run_count": "19"}))
    assert translate(server_status(plain), SETTINGS).snapshot == translate(server_status(forged), SETTINGS).snapshot
