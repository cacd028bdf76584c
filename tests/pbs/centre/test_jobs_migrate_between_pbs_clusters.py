"""PBS as source and as target: jobs leave a full cluster, run on another, and come back."""

from __future__ import annotations

import pytest

from tests.pbs.centre.act_as_user_and_service import HOME, SiteUser


def test_jobs_leave_a_full_cluster_and_come_back_with_their_exit_statuses(pbs_user: SiteUser) -> None:
    scripts = {
        "0": "cat input.txt > result.txt; echo done",
        "3": "echo wrong >&2; exit 3",
        "137": "kill -9 $$",
        "deleted": "echo begun > begun; exec sleep 900",
    }
    folders = {status: pbs_user.folder(f"batch/{status}", script) for status, script in scripts.items()}
    pbs_user.sh('echo input > "$1/input.txt"', folders["0"])
    with pbs_user.full():
        tickets = {status: pbs_user.submit(folder) for status, folder in folders.items()}
        deleted = pbs_user.wait_for(tickets["deleted"], "Submitted")
        while pbs_user.local_jobs("b").get(f"mg_{deleted['gid']}_1") != "R":
            pbs_user.receive()
        running = pbs_user.wait_there(deleted["gid"], "Submitted", ran=1)
        pbs_user.there('until [ -s "$1/begun" ]; do sleep 0.1; done', running.dstdir, user="alice")
        pbs_user.do("qdel", running.localid, letter="b", user="root")
        jobs = {status: pbs_user.wait_for(ticket) for status, ticket in tickets.items()}
    assert {(job["state"], job["dst"]) for job in jobs.values()} == {("End", "b")}, jobs
    assert {status: job["exit"] for status, job in jobs.items()} == {
        "0": "0", "3": "3", "137": "137", "deleted": "signal 15",
    }  # fmt: skip
    assert all(job["uploaded_bytes"] > 0 for job in jobs.values())
    assert pbs_user.read(f"{folders['0']}/result.txt") == "input\n"
    assert pbs_user.read(f"{folders['0']}/mg.{jobs['0']['gid']}.out") == "done\n"
    assert pbs_user.read(f"{folders['3']}/mg.{jobs['3']['gid']}.err") == "wrong\n"
    assert pbs_user.run(pbs_user.programs.path("mgstat"), *(job["gid"] for job in jobs.values())).status == 0


def test_a_job_that_this_cluster_can_start_runs_where_it_is(pbs_user: SiteUser) -> None:
    folder = pbs_user.folder("home", "pwd; exit 5")
    job = pbs_user.wait_for(pbs_user.submit(folder, "-b", "echo building"))
    assert (job["state"], job["exit"], job["dst"]) == ("End", "5", "a"), job
    assert pbs_user.read(f"{folder}/mg.{job['gid']}.out") == f"{folder}\n"
    assert pbs_user.read(f"{folder}/mg-build.log") == "building\n"


def test_a_job_of_several_nodes_is_shaped_for_the_target(pbs_user: SiteUser) -> None:
    folder = pbs_user.folder("wide", 'wc -l < "$PBS_NODEFILE"')
    job = pbs_user.wait_for(pbs_user.submit(folder, "-t", "b", "-N", "1", "-m", "100mb", cores=2))
    assert (job["state"], job["exit"]) == ("End", "0"), job
    assert pbs_user.read(f"{folder}/mg.{job['gid']}.out").strip() == "2"


def test_folders_of_a_batch_come_together_and_each_has_its_own_result(pbs_user: SiteUser) -> None:
    folders = [pbs_user.folder(f"study/case{number}", "cat input.txt > result.txt") for number in range(6)]
    for number, folder in enumerate(folders):
        pbs_user.sh('echo "$2" > "$1/input.txt"', folder, str(number))
    tickets = [pbs_user.submit(folder, "-t", "b") for folder in folders]
    jobs = [pbs_user.wait_for(ticket) for ticket in tickets]
    assert {(job["state"], job["exit"]) for job in jobs} == {("End", "0")}, "\n".join(map(str, jobs))
    assert all(job["uploaded_bytes"] > 0 for job in jobs), jobs
    assert [pbs_user.read(f"{folder}/result.txt") for folder in folders] == [f"{number}\n" for number in range(6)]
    show = f'for gid in "$@"; do cat "{HOME}/jobs/$gid/upload.log"; done'
    logs = pbs_user.there(show, *(str(job["gid"]) for job in jobs))
    assert "folders have come together" in logs


@pytest.mark.slow
@pytest.mark.parametrize("discard", [False, True])
def test_a_job_stopped_from_the_source_leaves_no_local_job_process_or_record(pbs_user: SiteUser, discard: bool) -> None:
    folder = pbs_user.folder(f"stopped-{discard}", "echo begun > begun; exec sleep 900")
    gid = pbs_user.sent(pbs_user.submit(folder, "-t", "b"))
    dstdir = pbs_user.wait_there(gid, "Submitted", ran=1).dstdir
    pbs_user.there('until [ -s "$1/begun" ]; do sleep 0.1; done', dstdir, user="alice")
    pbs_user.do(pbs_user.programs.path("mgstop"), *(["--discard"] if discard else []), gid)
    assert pbs_user.wait_for(gid)["state"] == "Stopped"
    assert f"mg_{gid}_1" not in pbs_user.local_jobs("b")
    assert pbs_user.sh('cat "$1/begun" 2> /dev/null || true', folder) == ("" if discard else "begun\n")
    pbs_user.wait_until_silent("b", f"cat {HOME}/received.q; pgrep -u mg mgproc || true")


@pytest.mark.slow
def test_a_guest_that_pbs_kills_at_its_walltime_ended_by_that(pbs_user: SiteUser) -> None:
    folder = pbs_user.folder("walltime", "echo begun > begun; exec sleep 900")
    job = pbs_user.wait_for(pbs_user.submit(folder, "-t", "b", "-w", "00:00:05"))
    assert (job["state"], job["exit"], job["reason"]) == ("End", "WALLTIME", "ended by WALLTIME"), job
    assert pbs_user.read(f"{folder}/begun") == "begun\n"
