"""PBS 23.06.06's own words, recorded on a testbed, cut to the attributes that are read."""

import json
import time
from typing import Any

import pytest

from migration.programs.run_external_program_with_limits import NOT_STARTED, TIMED_OUT, TOO_MUCH
from migration.schedulers.pbs import PbsScheduler, select_of
from migration.schedulers.scheduler_interface import (
    Ended,
    JobState,
    LocalJob,
    RequestUnanswered,
    SchedulerSilent,
    SubmitRefused,
    SubmitUnclear,
    Verdict,
)
from policy.migration.available_to_other_clusters import Shape
from policy.migration.job_demand import Demand
from tests.migration.schedulers.fake_run_with_recorded_outputs import FakeRun, failed

JOB = LocalJob("mg_a.1_1", "alice", Demand(8, 2, 100, 1, 600), "/s/a:b", "/s/a:b/.w", "/s/a:b/o", "/s/a:b/e")
QUEUE: dict[str, Any] = {
    "global": {"enabled": "True", "started": "True", "total_jobs": 3, "resources_max": {"walltime": "72:00:00"}}
}
JOBS: dict[str, Any] = {
    "0.mgf": {
        "job_state": "R", "run_count": 1, "comment": "Job run at ...", "stime": "Mon Nov 23 16:20:40 2026",
        "Resource_List": {"ncpus": 8, "walltime": "00:10:00"}, "resources_used": {"walltime": "00:04:00"},
    },
    "1.mgf": {"job_state": "Q", "Resource_List": {"ncpus": 12, "walltime": "00:20:00"}, "comment": "Not Running: ..."},
    "2.mgf": {"job_state": "H", "Resource_List": {"ncpus": 1}},
}  # fmt: skip


def shown(jobs: dict[str, dict[str, Any]]) -> str:
    """What ``qstat -f -w`` prints."""
    lines = []
    for job_id, job in jobs.items():
        lines.append(f"Job Id: {job_id}")
        for name, value in job.items():
            parts = {f"{name}.{part}": one for part, one in value.items()} if isinstance(value, dict) else {name: value}
            lines += [f"    {part} = {one}" for part, one in parts.items()]
        lines.append("")
    return "\n".join(lines)


def node(state: str = "free", cores: int = 8, used: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "state": state,
        "resources_available": {"ncpus": cores, "mem": "16gb", "ngpus": 2},
        "resources_assigned": {"ncpus": used, "mem": "1048576kb"} if used else {},
        **more,
    }


def scheduler(nodes: dict[str, Any], queues: dict[str, Any] = QUEUE, jobs: dict[str, Any] = JOBS) -> PbsScheduler:
    return PbsScheduler(
        FakeRun(
            {
                "qstat -Q": json.dumps({"Queue": queues}),
                "pbsnodes -a -v": json.dumps({"nodes": nodes}),
                "qstat -f": shown(jobs),
            }
        ),
        "global",
    )


def test_what_is_free_are_the_cores_of_vnodes_that_are_open_to_the_queue() -> None:
    unusable = (
        "offline",
        "down,job-busy",
        "state-unknown,down",
        "job-exclusive",
        "resv-exclusive",
        "provisioning",
        "Stale",
    )
    nodes = {
        "v1": node(), "v2": node(), "v3": node(used=5), "v4": node("job-busy", used=8),
        "v5": node(queue="other"), "v6": node(cores=4), "v7": node(resv="R1.mgf"),
        **{f"u{number}": node(state) for number, state in enumerate(unusable)},
    }  # fmt: skip
    free = scheduler(nodes).free()
    assert free.shapes == (Shape(1, 3, 15360, 2), Shape(1, 4, 16384, 2), Shape(2, 8, 16384, 2))
    assert (free.idle, free.cores, free.max_walltime_s, free.head_in_s) == (23, 13 * 8 + 4, 259_200, None)


def test_vnodes_of_a_host_are_summed_and_each_has_its_own_state_and_queue() -> None:
    def of_host(host: str, state: str = "free", **more: Any) -> dict[str, Any]:
        vnode = node(state, **more)
        vnode["resources_available"]["host"] = host
        return vnode

    nodes = {
        "h1": of_host("h1", cores=0), "h1[0]": of_host("h1"), "h1[1]": of_host("h1", used=3),
        "h2[0]": of_host("h2", "offline"), "h2[1]": of_host("h2"),
        "h3[0]": of_host("h3", queue="other"), "h3[1]": of_host("h3", cores=4),
    }  # fmt: skip
    free = scheduler(nodes).free()
    assert free.shapes == (Shape(1, 4, 16384, 2), Shape(1, 8, 16384, 2), Shape(1, 13, 48128, 6))
    assert (free.idle, free.cores) == (25, 44)


def with_resources(**more: str) -> dict[str, Any]:
    vnode = node()
    return {**vnode, "resources_available": {**vnode["resources_available"], **more}}


@pytest.mark.parametrize(
    ("queue", "nodes", "idle"),
    [
        ({}, {"n1": node(partition="p2"), "n2": node(cores=4)}, 4),
        ({"partition": "p1"}, {"n1": node(), "n2": node(partition="p1", cores=4)}, 4),
        ({"partition": "pbs-default"}, {"n1": node()}, 8),
        ({}, {"n1": node(), "g1": node("offline", queue="global")}, 0),
        ({}, {"n1": node(queue="other,global"), "n2": node(), "n3": node(queue="other")}, 8),
        ({"default_chunk": {"Qlist": "global"}}, {"n1": with_resources(Qlist="workq"), "n2": node()}, 0),
        ({"default_chunk": {"Qlist": "global"}}, {"n1": with_resources(Qlist="workq,global")}, 8),
        ({"default_chunk": {"fast": "True"}}, {"n1": with_resources(fast="True"), "n2": node()}, 8),
        ({"default_chunk": {"fast": "False"}}, {"n1": with_resources(fast="True"), "n2": node(cores=4)}, 4),
        ({"default_chunk": {"ncpus": 0, "mem": "2gb", "rank": "3"}}, {"n1": node()}, 8),
    ],
)
def test_vnodes_that_jobs_of_the_queue_cannot_use_are_not_free(
    queue: dict[str, Any], nodes: dict[str, Any], idle: int
) -> None:
    """Those of another partition, those without a queue where the queue has vnodes of its own, and those without the
    texts that each of its chunks asks for."""
    assert scheduler(nodes, {"global": {**QUEUE["global"], **queue}}).free().idle == idle


@pytest.mark.parametrize("shut", ["enabled", "started"])
def test_a_queue_that_is_shut_has_nothing(shut: str) -> None:
    assert scheduler({"v1": node()}, {"global": {**QUEUE["global"], shut: "False"}}).free().idle == 0


def test_cores_reserved_for_the_head_that_the_scheduler_expects() -> None:
    start = time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(time.time() + 500))
    jobs = {**JOBS, "1.mgf": {**JOBS["1.mgf"], "estimated": {"start_time": start}}}
    free = scheduler({"v1": node(cores=20)}, jobs=jobs).free()
    assert free.head_in_s is not None
    assert 480 <= free.head_in_s <= 500
    assert free.reserved == 4, "12 for the head, 8 of which end in 360 s"


def test_where_there_are_many_jobs_their_estimates_are_not_read() -> None:
    queues = {"global": QUEUE["global"], "workq": {"total_jobs": 6000}}
    run = FakeRun({"qstat -Q": json.dumps({"Queue": queues}), "pbsnodes -a -v": json.dumps({"nodes": {"v1": node()}})})
    assert PbsScheduler(run, "global").free().idle == 8


def test_a_queue_that_does_not_exist_is_reported() -> None:
    with pytest.raises(SchedulerSilent, match="PBS has no queue 'global'"):
        scheduler({}, {}).free()


def test_a_submission_is_one_argument_list_as_the_user_in_the_jobs_folder() -> None:
    run = FakeRun({"qsub": "12.mgf\n", "qselect -N mg_a.1_1 -u alice": "12.mgf\n"})
    assert PbsScheduler(run, "global").submit(JOB) == "12.mgf"
    call = run.calls[0]
    assert call.argv == (
        "qsub", "-f", "-N", "mg_a.1_1", "-q", "global", "-l", "select=2:ncpus=4:mpiprocs=4:mem=100mb:ngpus=1",
        "-l", "place=scatter", "-l", "walltime=600", "-o", "o", "-e", "e", "-r", "y", "--", "/s/a:b/.w",
    )  # fmt: skip
    assert (call.user, call.cwd) == ("alice", "/s/a:b")


def test_free_placement_is_a_chunk_a_core() -> None:
    assert select_of(Demand(12)) == "12:ncpus=1:mpiprocs=1"


@pytest.mark.parametrize(
    ("status", "text", "lasting"),
    [
        (170, "qsub: Unknown queue", True),
        (188, "qsub: Job violates queue and/or server resource limits", True),
        (187, "qsub: Unknown resource Resource_List.ncpuss", True),
        (38, "qsub: would exceed queue generic's per-user limit", False),
        (173, "qsub: Queue is not enabled", False),
        (169, "qsub: request rejected as filter hook 'quotas' got an alarm call. Please inform Admin", False),
        (171, "qsub: Invalid credential", False),
        (10, "qsub: System error: Cannot allocate memory", False),
        (1, "qsub: could not create/open tmp file /tmp/x for script", False),
        (212, "qsub: Request not allowed: Server shutting down", False),
        (161, "qsub: Job with requested ID already exists", False),
    ],
)
def test_a_refusal_is_for_now_or_for_good(status: int, text: str, lasting: bool) -> None:
    with pytest.raises(SubmitRefused, match=text.split("/", maxsplit=1)[0]) as raised:
        PbsScheduler(FakeRun({"qsub": failed(status, text)}), "global").submit(JOB)
    assert raised.value.lasting is lasting


@pytest.mark.parametrize(
    "answer",
    [
        failed(255, "Unknown Host.\nqstat: cannot connect to server nohost (errno=15008)"),
        failed(162, "No route to host\nqsub: cannot connect to server 10.0.0.1 (errno=15010)"),
        failed(TIMED_OUT, "\nkilled after 60 s"),
        failed(NOT_STARTED, "qsub: not found"),
    ],
)
def test_silence_concludes_nothing(answer: Any) -> None:
    silent = PbsScheduler(FakeRun({"q": answer, "pbsnodes": answer}), "global")
    for call in (
        lambda: silent.submit(JOB), silent.free, lambda: silent.states(["1.mgf"]), lambda: silent.history("1.mgf"),
        lambda: silent.find_by_name("n", "alice"), lambda: silent.delete("1.mgf", "alice"),
        lambda: silent.find_ended_run("n", "alice"),
        lambda: silent.hold("1.mgf", "alice"), lambda: silent.release("1.mgf", "alice"),
    ):  # fmt: skip
        with pytest.raises(SchedulerSilent):
            call()


def test_output_that_is_cut_off_is_silence() -> None:
    with pytest.raises(SchedulerSilent, match="not JSON"):
        PbsScheduler(FakeRun({"qstat": '{"Queue": {"global": '}), "global").free()


def test_states_of_several_jobs_are_asked_one_by_one_and_the_missing_are_gone() -> None:
    outputs = {f"qstat -f -w {job_id[0]}": shown({job_id: job}) for job_id, job in JOBS.items()}
    run = FakeRun({**outputs, "qstat -f -w 999": failed(153, "qstat: Unknown Job Id 999.mgf")})
    assert PbsScheduler(run, "global").states(["0.mgf", "1.mgf", "2.mgf", "999.mgf"]) == {
        "0.mgf": JobState("running", 1, "Job run at ..."),
        "1.mgf": JobState("queued", 0, "Not Running: ..."),
        "2.mgf": JobState("held", 0),
    }
    assert all(len(call.argv) == 4 for call in run.calls)


def test_many_jobs_are_asked_for_by_their_queue_and_only_the_others_one_by_one() -> None:
    ids = [f"{number}.mgf" for number in range(100)]
    run = FakeRun(
        {
            "qstat -f -w global": shown({job_id: {"job_state": "R", "run_count": 1} for job_id in ids[:98]}),
            "qstat -f -w 98": shown({"98.mgf": {"job_state": "Q"}}),
            "qstat -f -w 99": failed(35, "qstat: 99.mgf Job has finished, use -x or -H to obtain"),
        }
    )
    states = PbsScheduler(run, "global").states(ids)
    assert list(states) == ids[:99]
    assert states["98.mgf"] == JobState("queued", 0)
    assert len(run.calls) == 3


@pytest.mark.parametrize("noted", ["99999999999999999999", "1[", "1.evil.example", "1"])
def test_what_is_noted_as_the_id_of_one_job_hides_no_other_and_names_no_host(noted: str) -> None:
    running = {"1.mgf": {"job_state": "R", "run_count": 1}}
    number = noted.partition(".")[0]
    run = FakeRun(
        {
            f"qstat -f -w {number}": failed(1, f"qstat: illegally formed job identifier: {number}"),
            "qstat -f -w 1": shown(running),
            "qstat -f -w -x": failed(153, f"qstat: Unknown Job Id {number}.mgf"),
        }
    )
    assert PbsScheduler(run, "global").states([noted, "1.mgf"]) == {"1.mgf": JobState("running", 1)}
    assert not any("evil" in word for call in run.calls for word in call.argv)
    assert PbsScheduler(run, "global").history(noted) is None


def test_no_text_of_a_user_hides_or_changes_a_job() -> None:
    """Values as PBS prints them: no line break of theirs ends a line, and other line ends of Unicode are none."""
    texts = {
        "job_state": "R", "run_count": 1, "Account_Name": "[" * 5000,
        "Variable_List": "A=x\\n    job_state = F\\nJob Id: 2.mgf\u2028    job_state = F\r    job_state = F",
    }  # fmt: skip
    run = FakeRun({"qstat -f -w 1": shown({"1.mgf": texts}), "qstat -f -w 2": shown({"2.mgf": {"job_state": "H"}})})
    assert PbsScheduler(run, "global").states(["1.mgf", "2.mgf"]) == {
        "1.mgf": JobState("running", 1),
        "2.mgf": JobState("held", 0),
    }


def test_of_more_output_than_is_taken_all_jobs_but_the_last_are_known() -> None:
    whole = shown({**JOBS, "3.mgf": {"job_state": "Q", "Variable_List": "A" * 100}})
    run = FakeRun({"qstat -f -w": failed(TOO_MUCH, "ended: more than 64 MiB of output", whole[:-60])})
    pbs = PbsScheduler(run, "global")
    assert list(pbs._jobs([])) == ["0.mgf", "1.mgf", "2.mgf"]
    assert pbs.states(["0.mgf"]) == {"0.mgf": JobState("running", 1, "Job run at ...")}
    alone = shown({"3.mgf": {"job_state": "R", "Variable_List": "A" * 100}})[:-60]
    run = FakeRun({"qstat -f -w": failed(TOO_MUCH, "ended: more than 64 MiB of output", alone)})
    assert PbsScheduler(run, "global").states(["3.mgf"])["3.mgf"].state == "running"


def test_a_job_that_has_finished_is_gone() -> None:
    run = FakeRun({"qstat -f": failed(35, "qstat: 0.mgf Job has finished, use -x or -H to obtain", "")})
    assert PbsScheduler(run, "global").states(["0.mgf"]) == {}


def test_without_jobs_nothing_is_asked() -> None:
    run = FakeRun({})
    assert PbsScheduler(run, "global").states([]) == {}
    assert run.calls == []


def test_a_job_is_found_by_its_name() -> None:
    run = FakeRun({"qselect": "1.mgf\n"})
    assert PbsScheduler(run, "global").find_by_name("mg_a.2_1", "alice") == "1.mgf"
    assert run.calls[0].argv == ("qselect", "-N", "mg_a.2_1", "-u", "alice")
    assert PbsScheduler(FakeRun({"qselect": ""}), "global").find_by_name("n", "alice") is None


def test_a_job_that_has_run_and_ended_is_found_by_its_name_and_none_that_was_deleted_before() -> None:
    ran = {"job_state": "F", "Exit_status": 3, "run_count": 1, "stime": "x"}
    run = FakeRun(
        {
            "qselect": "1.mgf\n2.mgf\n",
            "qstat -f -w -x 1": shown({"1.mgf": {"job_state": "F"}}),
            "qstat -f -w -x 2": shown({"2.mgf": ran}),
        }
    )
    assert PbsScheduler(run, "global").find_ended_run("mg_a.2_1", "alice") == "2.mgf"
    assert run.calls[0].argv == ("qselect", "-x", "-N", "mg_a.2_1", "-u", "alice")


def test_a_server_without_job_history_remembers_no_job() -> None:
    off = failed(1, "qselect: PBS is not configured to maintain job history")
    assert PbsScheduler(FakeRun({"q": off}), "global").find_ended_run("n", "alice") is None
    assert PbsScheduler(FakeRun({"q": off}), "global").history("1.mgf") is None


def test_changes_are_made_as_the_user_and_what_is_gone_is_no_error() -> None:
    run = FakeRun(
        {"qdel": failed(35, "qdel: Job has finished 0.mgf"), "qhold": "", "qrls": failed(153, "qrls: Unknown Job Id 9")}
    )
    pbs = PbsScheduler(run, "global")
    pbs.delete("0.mgf", "alice")
    pbs.hold("1.mgf", "alice")
    pbs.release("9.mgf", "alice")
    assert [(call.argv, call.user) for call in run.calls] == [
        (("qdel", "0.mgf"), "alice"), (("qhold", "-h", "u", "1.mgf"), "alice"), (("qrls", "-h", "u", "9.mgf"), "alice"),
    ]  # fmt: skip
    with pytest.raises(SchedulerSilent, match="Unauthorized Request"):
        PbsScheduler(FakeRun({"qdel": failed(159, "qdel: Unauthorized Request  0.mgf")}), "global").delete(
            "0.mgf", "bob"
        )


@pytest.mark.parametrize(
    ("job", "ended"),
    [
        ({"job_state": "F", "Exit_status": 3, "run_count": 1, "stime": "x"}, Ended("3", ran=True)),
        ({"job_state": "F", "Exit_status": 271, "run_count": 1, "stime": "x"}, Ended("signal 15", ran=True)),
        ({"job_state": "F", "Exit_status": -29, "run_count": 1, "stime": "x"}, Ended("WALLTIME", ran=True)),
        ({"job_state": "F", "Exit_status": -27, "run_count": 1, "stime": "x"}, Ended("MEM", ran=True)),
        ({"job_state": "F", "Exit_status": -4, "run_count": 1, "stime": "x"}, Ended("Exit_status -4", ran=True)),
        (
            {"job_state": "F", "Exit_status": -10, "run_count": 1, "stime": "x", "comment": "Job not run: bad uid"},
            Ended("", ran=False, not_started="Exit_status -10, Job not run: bad uid"),
        ),
        ({"job_state": "F", "run_count": 1, "stime": "x"}, Ended("", ran=True)),
        ({"job_state": "F"}, Ended("", ran=False)),
        ({"job_state": "R"}, None),
    ],
)
def test_history(job: dict[str, Any], ended: Any) -> None:
    run = FakeRun({"qstat -f -w -x 0": shown({"0.mgf": job})})
    assert PbsScheduler(run, "global").history("0.mgf") == ended
    gone = FakeRun({"qstat -f -w -x 0": failed(153, "qstat: Unknown Job Id 0.mgf")})
    assert PbsScheduler(gone, "global").history("0.mgf") is None


def test_pbs_alone_cannot_say_whether_a_job_would_start() -> None:
    assert PbsScheduler(FakeRun({}), "global").would_start_now(JOB) == Verdict(None)


@pytest.mark.parametrize("printed", ["abc", "", "12.s 13.s", "1.evil.example", "99999999999999999999", "News\n12.s\n"])
def test_the_id_of_a_submitted_job_is_the_schedulers_word_whatever_the_users_program_prints(printed: str) -> None:
    run = FakeRun({"qsub": printed, "qselect -N mg_a.1_1 -u alice": "7.mgf\n"})
    assert PbsScheduler(run, "global").submit(JOB) == "7.mgf"
    assert [call.user for call in run.calls] == ["alice", None]


def test_a_submission_of_which_the_scheduler_knows_nothing_is_unclear() -> None:
    with pytest.raises(SubmitUnclear, match=r"the scheduler has no job of this name of alice"):
        PbsScheduler(FakeRun({"qsub": "12.mgf\n", "qselect": ""}), "global").submit(JOB)


@pytest.mark.parametrize(
    "answer",
    [
        failed(137, ""), failed(143, "limit"), failed(-9, "limit"), failed(TOO_MUCH, "limit"), failed(1, "qsub: what?"),
        failed(127, "qsub.real: not found"),
    ],
)  # fmt: skip
def test_what_is_no_answer_of_the_server_is_no_refusal(answer: Any) -> None:
    with pytest.raises(SubmitUnclear):
        PbsScheduler(FakeRun({"qsub": answer}), "global").submit(JOB)


def test_a_lost_reply_is_silence() -> None:
    with pytest.raises(SchedulerSilent, match="Premature end of message") as raised:
        PbsScheduler(FakeRun({"qsub": failed(183, "qsub: Premature end of message")}), "global").submit(JOB)
    assert not isinstance(raised.value, SubmitUnclear)


def test_what_a_hook_of_the_site_says_is_a_refusal_for_good() -> None:
    with pytest.raises(SubmitRefused, match="no jobs on Sunday") as raised:
        PbsScheduler(FakeRun({"qsub": failed(32, "qsub: no jobs on Sunday")}), "global").submit(JOB)
    assert raised.value.lasting


def test_a_request_as_a_user_that_is_not_answered_says_nothing_of_the_scheduler() -> None:
    run = FakeRun({"qhold": failed(TIMED_OUT, "killed after 30 s")})
    with pytest.raises(RequestUnanswered, match="killed after 30 s"):
        PbsScheduler(run, "global").hold("12", "alice")
