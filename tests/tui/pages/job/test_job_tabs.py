"""The pages of one job: which there are, and what each has."""

from __future__ import annotations

from policy import Ledger, Settings
from tests.tui.scripted_server import a_server_status, running, with_job
from tui.backends.job_output_tail import Tail
from tui.pages.job.job_page import JobDetail, JobFiles
from tui.pages.job.job_tabs import HISTORY, LOG, OUTPUT, RESOURCES, SCRIPT, SUBJOBS, tab_lines, tabs_of
from tui.state.cluster_view import ClusterView, see
from tui.text.screen_line import plain


def cluster(**more: str) -> ClusterView:
    status = with_job(a_server_status(), "16[3].hpc1", running("dave", 1, "v2"))
    return see(with_job(status, "11.hpc1", running("alice", 8, "v1", **more)), Settings(), Ledger(), 0.0)


def shown(tab: str, job: str, detail: JobDetail | None = None, **more: str) -> str:
    return "\n".join(plain(line) for line in tab_lines(tab, cluster(**more), job, 100, detail))


def test_only_arrays_have_a_page_of_subjobs() -> None:
    assert SUBJOBS in tabs_of("16[].hpc1")
    assert SUBJOBS not in tabs_of("11.hpc1")
    assert SUBJOBS not in tabs_of("16[3].hpc1")


def test_the_subjobs_that_run_are_listed_with_their_vnodes_and_those_that_wait_by_index() -> None:
    text = shown(SUBJOBS, "16[].hpc1")
    assert "1 run" in text
    assert "16[3]         running, 30 min  v2" in text
    assert "waiting  0-9" in text


def test_use_stands_beside_what_was_asked_for() -> None:
    used = {"resources_used.walltime": "00:30:00", "resources_used.cput": "01:00:00", "resources_used.mem": "16gb"}
    more = {"Resource_List.mem": "64gb", "Resource_List.select": "1:ncpus=8"}
    text = " ".join(shown(RESOURCES, "11.hpc1", JobDetail("11.hpc1", used), **more).split())
    assert "mem 64 GB 16 GB 25%" in text
    assert "walltime 02:00:00 00:30:00 25%" in text
    assert "cores busy 25% of the cores that it holds" in text
    assert "select 1:ncpus=8" in text
    assert "the server has no figures of its use" in shown(RESOURCES, "11.hpc1")


def test_the_output_has_the_errors_and_ends_with_its_last_line() -> None:
    detail = JobDetail("11.hpc1", {}, tail=Tail("/o", ("step 1", "step 2")), errors=Tail("/e", problem="not there"))
    lines = shown(OUTPUT, "11.hpc1", detail).splitlines()
    assert lines[:2] == ["errors  /e", "  not there"]
    assert lines[-1] == "step 2"


def test_what_is_not_looked_up_yet_is_reported() -> None:
    for tab in (OUTPUT, HISTORY):
        assert shown(tab, "11.hpc1") == "looking it up"


def of_files(tab: str, files: JobFiles) -> str:
    return "\n".join(plain(line) for line in tab_lines(tab, cluster(), "11.hpc1", 100, None, files))


def test_the_script_and_the_log_are_shown_or_why_they_cannot_be() -> None:
    assert shown(SCRIPT, "11.hpc1") == shown(LOG, "11.hpc1") == "looking it up"
    found = JobFiles("11.hpc1", "#!/bin/sh\n#PBS -N x\necho \x1b[2J\n", log=("06/01 S  Job Queued",))
    assert of_files(SCRIPT, found) == "#!/bin/sh\n#PBS -N x\necho ␛[2J"
    assert of_files(LOG, found) == "06/01 S  Job Queued"
    not_found = JobFiles("11.hpc1", script_problem="printjob: no permission", log_problem="tracejob: no logs")
    assert of_files(SCRIPT, not_found) == "printjob: no permission"
    assert of_files(LOG, not_found) == "tracejob: no logs"
