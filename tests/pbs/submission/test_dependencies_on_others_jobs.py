"""Dependencies by which PBS would delete, hold or lose jobs, end, or wait: refused to users on a real server in the
mode that interferes least, in all forms that its server reads; those that PBS carries out as it should work as before.

What PBS does without the refusals is described in docs/hooks.md.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from container import testbed as testbeds
from tests.hooks.deploy_on_testbed import deploy, quick_settings
from tests.pbs.ask_by_pbs_library import ask_by_library
from tests.pbs.cluster import PbsCluster

_PLAIN = (
    "Job_Name=x", "Resource_List.select=1:ncpus=1", "Resource_List.walltime=00:10:00",
    "Variable_List=PBS_O_HOME=/tmp,PBS_O_WORKDIR=/tmp,PBS_O_HOST=server",
)  # fmt: skip
NOT_UTF8 = "\udcff"
BEFORE = ("before", "beforeok", "beforenotok", "beforeany")


def ask(pbs: PbsCluster, job_id: str, *attributes: str) -> str:
    """What the server says to alice's submission, or to the alteration of her job."""
    if job_id:
        return ask_by_library(pbs, "alice", "alter job", job_id, *attributes)
    return ask_by_library(pbs, "alice", "submit", "", *_PLAIN, *attributes)


def check_refused(pbs: PbsCluster, depend: str, expected_text: str) -> None:
    """It is refused to alice at submission, and for a waiting job of hers."""
    done = pbs.try_qsub("alice", options=("-W", f"depend={depend}"))
    assert done.status != 0, depend
    assert expected_text in done.stderr, (depend, done.stderr)
    waiting = pbs.qsub("alice", options=("-h",))
    altered = pbs.run(["qalter", "-W", f"depend={depend}", waiting], user="alice")
    assert altered.status != 0, depend
    assert expected_text in altered.stderr, (depend, altered.stderr)
    assert "depend" not in pbs.job(waiting)
    pbs.run(["qdel", waiting], user="alice").demand_success()


def submit_jobs_of_others(pbs: PbsCluster) -> dict[str, str]:
    """A running job, an array that has begun, and a held job, each with the state that it is to keep."""
    others = {
        pbs.qsub("bob"): "R",
        pbs.qsub("carol", options=("-J", "1-3")): "B",
        pbs.qsub("dave", options=("-h",)): "H",
    }
    for job, state in others.items():
        pbs.wait_for_state(job, state)
    return others


def check_states(pbs: PbsCluster, states: dict[str, str]) -> None:
    """What PBS does to other jobs it does within a second or two of the request."""
    time.sleep(3)
    assert {job: pbs.job_state(job) for job in states} == states


def count_used_cores(pbs: PbsCluster) -> int:
    return sum(int(vnode.get("resources_assigned", {}).get("ncpus", 0)) for vnode in pbs.pbsnodes().values())


def test_no_dependency_deletes_jobs_of_other_users(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("observe"))
    others = submit_jobs_of_others(pbs)
    named = ":".join(others)
    held = pbs.qsub("alice", options=("-h",))
    for kind in BEFORE:
        check_refused(pbs, f"on:1,{kind}:{named}", "which is not a job of alice's")
        check_refused(pbs, f"afterok:{held},{kind}:{named}", "which is not a job of alice's")
    check_refused(pbs, "beforeok:999999", "which this server does not know")
    pbs.run(["qdel", held], user="alice").demand_success()
    check_states(pbs, others)


def test_no_form_of_a_dependency_hides_the_job_that_it_names(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("observe"))
    others = submit_jobs_of_others(pbs)
    bobs, *_ = others
    number, server = bobs.split(".", 1)
    waiting = pbs.qsub("alice", options=("-h",))
    forms = [
        f"on:1, \t beforeok:{bobs}",
        f"on:1,beforeok:{bobs}:",
        f"on:1,beforeok:{bobs},",
        f"beforeok:{bobs},on:1",
        f"runone:{waiting}:{bobs},on:1",
        f"on:1,beforeok:{number}.{server.upper()}",
        f"on:1,beforeok:{number}@{server}",
        f"on:1,beforeok:{bobs}@",
        f"on:1,beforeok:{bobs}@elsewhere@{server}",
        f"on:1,runone:{bobs}",
        f"afterok:{waiting},runone:{bobs}",
    ]
    for form in forms:
        assert "which is not a job of alice's" in ask(pbs, "", f"depend={form}"), form
        others_own = pbs.qsub("alice", options=("-h",))
        assert "which is not a job of alice's" in ask(pbs, others_own, f"depend={form}"), form
        # PBS shows the hook no original job where a text is not UTF-8.
        answer = ask(pbs, others_own, f"depend={form}", f"Account_Name={NOT_UTF8}")
        assert "which is not a job of alice's" in answer, form
        pbs.run(["qdel", others_own], user="alice").demand_success()
    assert "has a line break" in ask(pbs, "", f"depend=on:1\nbeforeok:{bobs}")
    assert "characters; allowed are 255" in ask(pbs, "", f"depend=after:{'9' * 5_000}.{server}")
    # Of an attribute that is named twice, by an odd name or with bytes that are not UTF-8, PBS takes what the hook saw.
    for attributes in (
        (f"depend=beforeok:{bobs}", "depend=on:1"),
        (f"DEPEND=beforeok:{bobs}", "depend=on:1"),
        (f"depend.x=on:1,beforeok:{bobs}",),
        (f"depend=on:1,beforeok:{bobs}:{NOT_UTF8}.{server}",),
    ):
        for job in ("", pbs.qsub("alice", options=("-h",))):
            answer = ask(pbs, job, *attributes)
            taken = pbs.job(job or answer.split()[0])
            assert "beforeok" not in taken.get("depend", ""), (attributes, answer)
    check_states(pbs, others)


def test_the_server_lives_on_where_a_runone_names_another_users_job(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("observe"))
    others = submit_jobs_of_others(pbs)
    held = pbs.qsub("alice", options=("-h",))
    for job in others:
        check_refused(pbs, f"runone:{job}", "which is not a job of alice's")
        check_refused(pbs, f"afterok:{held},runone:{job}", "which is not a job of alice's")
    pbs.run(["qdel", held], user="alice").demand_success()
    check_states(pbs, others)


def test_an_array_loses_no_cores_by_a_dependency(pbs: PbsCluster) -> None:
    """As target, and as the job that is altered: PBS would abort it while its subjobs run."""
    deploy(pbs, quick_settings("observe"))
    array = pbs.qsub("alice", options=("-J", "1-8"))
    pbs.wait_until(lambda: "Running:8" in pbs.job(array)["array_state_count"], 60.0, "all subjobs run")
    for kind in BEFORE:
        done = pbs.try_qsub("alice", options=("-W", f"depend=on:1,{kind}:{array}"))
        assert "an array of which subjobs run" in done.stderr
    held = pbs.qsub("alice", options=("-h",))
    for depend in (f"afterok:{held}", "on:1", f"runone:{held}"):
        altered = pbs.run(["qalter", "-W", f"depend={depend}", array], user="alice")
        assert "gets no dependency (depend) while subjobs of it run" in altered.stderr
    pbs.run(["qdel", held], user="alice").demand_success()
    check_states(pbs, {array: "B"})
    assert count_used_cores(pbs) == 8
    pbs.run(["qdel", array], user="alice").demand_success()
    pbs.wait_until(lambda: count_used_cores(pbs) == 0, 60.0, "all cores are given back")


def test_the_server_lives_on_where_a_job_is_altered_into_part_of_a_group(pbs: PbsCluster) -> None:
    """PBS ends by plain commands of one user: the altered job does not know of those that know of it."""
    deploy(pbs, quick_settings("observe"))
    runs = pbs.qsub("alice", ("/bin/sleep", "8"))
    pbs.wait_for_state(runs, "R")
    second = pbs.qsub("alice", options=("-W", f"depend=runone:{runs}"))
    altered = pbs.qsub("alice", options=("-h",))
    done = pbs.run(["qalter", "-W", f"depend=runone:{runs}", altered], user="alice")
    assert f"one of a group of which it does not name job {second}: name them all" in done.stderr
    pbs.run(["qdel", altered], user="alice").demand_success()
    pbs.wait_for_state(runs, "F")
    check_states(pbs, {second: "F"})
    ended = pbs.try_qsub("alice", options=("-W", f"depend=runone:{runs}"))
    assert "which has ended" in ended.stderr


@contextmanager
def full_listener(pbs: PbsCluster, port: int) -> Iterator[str]:
    """A host of the cluster on which a program of alice's listens and takes no connection."""
    code = (
        "import socket, sys\n"
        "server = socket.socket(); server.bind(('0.0.0.0', int(sys.argv[1]))); server.listen(0)\n"
        "full = [socket.socket() for _ in range(4)]\n"
        "for each in full:\n"
        "    each.setblocking(False); each.connect_ex(server.getsockname())\n"
        "print('begun', flush=True); sys.stdin.read()\n"
    )
    host = pbs.spec.mom_hosts[0].name
    argv = ["/usr/bin/python3", "-I", "-c", code, str(port)]
    words, environment = testbeds.build_command(pbs.testbed, host, argv, user="alice", cwd=Path("/"))
    with subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as listener:
        assert listener.stdin is not None and listener.stdout is not None
        assert listener.stdout.readline().strip() == "begun"
        try:
            yield host
        finally:
            listener.stdin.close()


def test_jobs_at_other_servers_are_refused_at_once(pbs: PbsCluster) -> None:
    """PBS would connect there in its only thread, ten seconds for each name."""
    deploy(pbs, quick_settings("observe"))
    others = submit_jobs_of_others(pbs)
    bobs, *_ = others
    number, server = bobs.split(".", 1)
    with full_listener(pbs, 20_001) as host:
        for at in (rf"{bobs}@{host}\:20001", rf"{bobs}@{server}\:20001", f"{bobs}@127.0.0.1", f"{number}.{host}"):
            for kind in ("afterok", "after", "runone", "beforeok"):
                for job in ("", pbs.qsub("alice", options=("-h",))):
                    begun_s = time.monotonic()
                    answer = ask(pbs, job, f"depend={kind}:" + ":".join([at] * 3))
                    assert "allowed are jobs at this server" in answer, (kind, at)
                    assert time.monotonic() - begun_s < 5.0
    check_states(pbs, others)


def test_dependencies_that_pbs_carries_out_as_it_should_work_as_before(pbs: PbsCluster) -> None:
    deploy(pbs, quick_settings("observe"))
    target = pbs.qsub("alice", options=("-W", "depend=on:1"))
    first = pbs.qsub("alice", ("/bin/sleep", "1"), options=("-h", "-W", f"depend=beforeok:{target}"))
    assert pbs.job(target)["depend"].startswith(f"afterok:{first}")
    again = pbs.run(["qalter", "-W", f"depend=beforeok:{target}", first], user="alice")
    assert again.status == 0, again.stderr
    pbs.run(["qrls", first], user="alice").demand_success()
    pbs.wait_for_state(target, "R")
    late = pbs.try_qsub("alice", options=("-W", f"depend=beforeok:{target}"))
    assert "give it -W depend=on:1 first" in late.stderr
    bobs = pbs.qsub("bob", options=("-W", f"depend=after:{target}"))
    pbs.wait_for_state(bobs, "R")
    waiting = pbs.qsub("carol", options=("-W", f"depend=afterany:{bobs}@{bobs.split('.', 1)[1]}"))
    assert pbs.job_state(waiting) == "H"
    # Its owner alters the job that another user's job depends on.
    held = pbs.qsub("alice", options=("-h",))
    follower = pbs.qsub("bob", options=("-W", f"depend=afterok:{held}"))
    assert "beforeok" in pbs.job(held)["depend"]
    pbs.run(["qalter", "-N", "renamed", held], user="alice").demand_success()
    pbs.run(["qdel", bobs], user="bob").demand_success()
    pbs.wait_for_state(waiting, "R")
    assert pbs.job_state(follower) == "H"


@pytest.mark.parametrize("kind", ["job", "array"])
def test_groups_of_which_one_is_to_run_work_as_before(pbs: PbsCluster, kind: str) -> None:
    """A running one, a held one and a later one; also where another is altered into the group."""
    deploy(pbs, quick_settings("observe"))
    many = ("-J", "1-2") if kind == "array" else ()
    runs = pbs.qsub("alice", options=many)
    pbs.wait_for_state(runs, "B" if many else "R")
    second = pbs.qsub("alice", options=(*many, "-W", f"depend=runone:{runs}"))
    third = pbs.qsub("alice", options=("-W", f"depend=runone:{second}"))
    altered = pbs.qsub("alice", options=("-h", *many))
    group = f"{runs}:{second}:{third}"
    pbs.run(["qalter", "-W", f"depend=runone:{group}", altered], user="alice").demand_success()
    time.sleep(3)
    assert [pbs.job_state(job) for job in (second, third, altered)] == ["H"] * 3
    pbs.run(["qdel", second], user="alice").demand_success()
    pbs.run(["qdel", runs], user="alice").demand_success()
    assert pbs.run(["qstat", "-B"]).status == 0
