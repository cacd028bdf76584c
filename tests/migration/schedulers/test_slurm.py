"""Slurm 22.05's own words, recorded on a running slurmctld with three nodes."""

import time
from collections.abc import Sequence
from typing import Any

import pytest

from migration.config.cluster_file import Cluster
from migration.programs.run_external_program_with_limits import NOT_STARTED, TIMED_OUT, TOO_MUCH, Finished
from migration.schedulers.choose_scheduler import open_scheduler
from migration.schedulers.scheduler_interface import (
    Ended,
    JobState,
    LocalJob,
    RequestUnanswered,
    SchedulerSilent,
    SubmitRefused,
    SubmitUnclear,
)
from migration.schedulers.slurm import SlurmScheduler, parse_time_s, show_time
from policy.migration.available_to_other_clusters import Shape
from policy.migration.job_demand import Demand
from tests.migration.schedulers.fake_run_with_recorded_outputs import FakeRun, Recorded, failed

JOB = LocalJob("mg_a.1_1", "alice", Demand(8, 2, 100, 1, 90_061), "/s/a %j", "/s/a %j/.w", "/s/a %j/o", "/s/a %j/e")
NODES = """\
n1|0/8/0/8|idle|1000|0|(null)|gpu:0|
n2|0/8/0/8|idle|1000|0|(null)|gpu:0|
n3|4/4/0/8|mixed|1000|40|gpu:2(S:0)|gpu:1(IDX:0)|
n4|8/0/0/8|allocated|1000|80|(null)|gpu:0|
n5|0/8/0/8|idle*|1000|0|(null)|gpu:0|
n6|0/0/8/8|drained|1000|0|(null)|gpu:0|
n7|0/8/0/8|reserved|1000|0|(null)|gpu:0|
n8|0/8/0/8|idle~|1000|0|(null)|gpu:0|
"""
SHOWN = (
    "JobId=2 JobName=mg_a.1_1 UserId=root(0) Requeue=1 Restarts={} JobState={} Reason=None ExitCode={} RunTime={} "
    "StartTime=2026-11-23T16:28:54 EndTime=2026-11-23T16:29:31 ReqNodeList=n[1-3] ExcNodeList=(null) NodeList={}"
)


def free_with(queue: str = "", partition: str = "up|2-00:00:00\n", nodes: str = NODES) -> SlurmScheduler:
    run = FakeRun({"sinfo -h -p": partition, "sinfo -h -N": nodes, "squeue": queue})
    return SlurmScheduler(run, "global")


def local(in_s: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + in_s))


def test_what_is_free_are_the_idle_cores_of_nodes_without_a_flag() -> None:
    free = free_with().free()
    assert free.shapes == (Shape(1, 4, 960, 1), Shape(2, 8, 1000, 0))
    assert (free.idle, free.cores, free.max_walltime_s, free.head_in_s) == (20, 64, 172_800, None)


def test_a_partition_that_is_down_has_nothing() -> None:
    assert free_with(partition="drain|infinite\n").free().idle == 0
    assert free_with(partition="drain|infinite\n").free().max_walltime_s is None


def test_a_partition_that_does_not_exist_is_reported() -> None:
    with pytest.raises(SchedulerSilent, match="Slurm has no partition 'global'"):
        free_with(partition="").free()


def test_cores_reserved_for_the_head_that_slurm_expects() -> None:
    queue = (
        f"PD|20|{local(500)}|10:00\nPD|2|{local(900)}|10:00\nPD|9|N/A|10:00\nR|6|x|7:58\nR|6|x|9:00\nR|1|x|UNLIMITED\n"
    )
    free = free_with(queue).free()
    assert free.head_in_s is not None
    assert 480 <= free.head_in_s <= 500
    assert free.reserved == 14


def test_a_submission_is_one_argument_list_as_the_user_in_the_jobs_folder() -> None:
    run = FakeRun({"sbatch": "12;cluster\n", "squeue -h -n mg_a.1_1 -u alice": "12\n"})
    assert SlurmScheduler(run, "global").submit(JOB) == "12"
    call = run.calls[0]
    assert call.argv == (
        "sbatch", "--parsable", "--partition", "global", "--ntasks", "8", "--time", "1-01:01:01", "--nodes", "2",
        "--ntasks-per-node", "4", "--mem", "100M", "--gres", "gpu:1", "--job-name", "mg_a.1_1", "--requeue",
        "--chdir", "/s/a %j", "--output", "/s/a %%j/o", "--error", "/s/a %%j/e", "/s/a %j/.w",
    )  # fmt: skip
    assert (call.user, call.cwd) == ("alice", "/s/a %j")


def test_a_folder_whose_outputs_slurm_would_misname_is_refused() -> None:
    with pytest.raises(SubmitRefused, match="backslash"):
        SlurmScheduler(FakeRun({}), "global").submit(JOB._replace(cwd="/s/a\\b"))


@pytest.mark.parametrize(
    ("text", "lasting"),
    [
        ("sbatch: error: Batch job submission failed: Invalid partition name specified", True),
        ("sbatch: error: Batch job submission failed: Requested node configuration is not available", True),
        (
            "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (submit limit)",
            False,
        ),
        ("sbatch: error: Requested time limit is invalid (missing or exceeds some limit)", True),
        ("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying", False),
        ("sbatch: error: Batch job submission failed: Unable to create job record, try again", False),
        ("sbatch: error: Batch job submission failed: Protocol authentication error", False),
        ("sbatch: error: Batch job submission failed: Required partition not available (inactive or drain)", False),
    ],
)
def test_a_refusal_is_for_now_or_for_good(text: str, lasting: bool) -> None:
    with pytest.raises(SubmitRefused) as raised:
        SlurmScheduler(FakeRun({"sbatch": failed(1, text)}), "global").submit(JOB)
    assert raised.value.lasting is lasting


@pytest.mark.parametrize(
    "answer",
    [
        failed(1, "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"),
        failed(TIMED_OUT, "\nkilled after 60 s"),
        failed(NOT_STARTED, "sbatch: not found"),
    ],
)
def test_silence_concludes_nothing(answer: Any) -> None:
    silent = SlurmScheduler(FakeRun({"s": answer}), "global")
    for call in (
        lambda: silent.submit(JOB), silent.free, lambda: silent.states(["1"]), lambda: silent.history("1"),
        lambda: silent.find_by_name("n", "alice"), lambda: silent.delete("1", "alice"),
        lambda: silent.find_ended_run("n", "alice"),
        lambda: silent.hold("1", "alice"),
        lambda: silent.release("1", "alice"), lambda: silent.would_start_now(JOB),
    ):  # fmt: skip
        with pytest.raises(SchedulerSilent):
            call()


def test_output_of_another_form_is_silence() -> None:
    with pytest.raises(SchedulerSilent, match="has not 4 fields"):
        SlurmScheduler(FakeRun({"squeue": "1|R\n"}), "global").states(["1"])


def test_states_of_several_jobs_in_one_call_and_the_missing_are_gone() -> None:
    rows = "2|R|1|None|\n3|PD|0|Resources|\n4|PD|2|JobHeldUser|\n5|CA|0|None|\n6|CF|0|None|\n"
    run = FakeRun({"squeue": rows})
    assert SlurmScheduler(run, "global").states(["2", "3", "4", "5", "6", "999"]) == {
        "2": JobState("running", 2, "None"),
        "3": JobState("queued", 0, "Resources"),
        "4": JobState("held", 2, "JobHeldUser"),
        "5": JobState("ended", 0, "None"),
        "6": JobState("running", 1, "None"),
    }
    assert len(run.calls) == 1
    gone = FakeRun({"squeue": failed(1, "slurm_load_jobs error: Invalid job id specified")})
    assert SlurmScheduler(gone, "global").states(["999"]) == {}
    assert SlurmScheduler(FakeRun({}), "global").states([]) == {}


def test_an_id_that_squeue_does_not_take_hides_no_other() -> None:
    """One such id ends squeue for all that it was asked for."""
    bad = ("99999999999999999999", "0")

    def squeue(argv: Sequence[str], **_: Any) -> Finished:
        ids = argv[argv.index("-j") + 1].split(",")
        refused = [one for one in ids if one in bad]
        if refused:
            return failed(1, f"squeue: error: Invalid job id: {refused[0]}")
        return Finished(0, "".join(f"{one}|R|0|None|\n" for one in ids).encode(), b"")

    good = [str(number) for number in range(1, 60)]
    states = SlurmScheduler(squeue, "global").states([*good[:7], bad[0], *good[7:], bad[1]])
    assert states == dict.fromkeys(good, JobState("running", 1, "None"))


def test_a_look_up_that_fails_is_no_empty_one() -> None:
    """squeue says the same where it takes an option of ours for an id."""
    run = FakeRun({"s": failed(1, "squeue: error: Invalid job id: x")})
    with pytest.raises(SchedulerSilent):
        SlurmScheduler(run, "global").find_by_name("n", "alice")


def test_whether_it_would_start_now() -> None:
    def verdict(said: Any, *pending: str) -> Any:
        reasons = "".join(f"{reason}\n" for reason in pending)
        run = FakeRun({"sbatch --test-only": said, "squeue -h -t PD -p global -o %r": reasons})
        return SlurmScheduler(run, "global").would_start_now(JOB)

    line = "sbatch: Job 5 to start at {} using 20 processors on nodes n[1-3] in partition global"
    assert verdict(failed(0, line.format(local(0)))).now is True
    later = verdict(failed(0, line.format(local(600))))
    assert later.now is False
    assert later.text.startswith("would start in ")
    for reasons, now in (
        ("None", None),
        ("None Priority Priority", None),
        ("Resources Priority", False),
        ("None Resources", False),
        ("Priority", False),
        ("Dependency None", False),
    ):
        found = verdict(failed(0, line.format(local(600))), *reasons.split())
        assert found.now is now, f"{reasons}: only where nothing that is pending was tried yet, Slurm cannot say"
    assert verdict(failed(0, line.format(local(76 * 86_400)))).now is None
    refused = verdict(failed(1, "allocation failure: Requested node configuration is not available"))
    assert (refused.now, refused.text) == (False, "allocation failure: Requested node configuration is not available")


def test_a_job_is_found_by_its_name() -> None:
    assert SlurmScheduler(FakeRun({"squeue -h -n n -u alice": "4\n"}), "global").find_by_name("n", "alice") == "4"
    assert SlurmScheduler(FakeRun({"squeue": ""}), "global").find_by_name("n", "alice") is None


def test_a_job_that_has_run_and_ended_is_found_by_its_name_and_none_that_was_cancelled_before() -> None:
    cancelled = SHOWN.format(0, "CANCELLED", "0:0", "00:00:00", "(null)")
    forgotten: dict[str, Recorded] = {
        "scontrol": failed(1, "slurm_load_jobs error: Invalid job id specified"),
        "sacct -n -P -X -j 5": "TIMEOUT|0:0|n1|9\n",
    }
    outputs: dict[str, Recorded] = {
        "squeue -h -t all -n n -u alice": "4\n",
        "sacct": "4\n5\n",
        "scontrol -o show job 4": cancelled,
    }
    run = FakeRun({**outputs, **forgotten})
    assert SlurmScheduler(run, "global").find_ended_run("n", "alice") == "5"
    assert run.calls[1].argv[4:9] == ("-S", "now-7days", "-u", "alice", "--name")
    off = failed(1, "Slurm accounting storage is disabled")
    assert SlurmScheduler(FakeRun({**outputs, "sacct": off}), "global").find_ended_run("n", "alice") is None


def test_changes_are_made_as_the_user_and_what_is_gone_is_no_error() -> None:
    run = FakeRun(
        {
            "scancel": "",
            "scontrol hold": failed(
                1, "Job has already finished for job 2\nslurm_suspend error: Job has already finished"
            ),
            "scontrol release": failed(1, "slurm_suspend error: Invalid job id specified"),
        }
    )
    slurm = SlurmScheduler(run, "global")
    slurm.delete("2", "alice")
    slurm.hold("2", "alice")
    slurm.release("2", "alice")
    assert [(call.argv[-1], call.user) for call in run.calls] == [("2", "alice")] * 3
    denied = FakeRun({"scancel": failed(1, "scancel: error: Kill job error on job id 2: Access/permission denied")})
    with pytest.raises(SchedulerSilent, match="permission denied"):
        SlurmScheduler(denied, "global").delete("2", "bob")


@pytest.mark.parametrize(
    ("state", "exited", "nodes", "run_time", "restarts", "ended"),
    [
        ("COMPLETED", "0:0", "n1", "00:00:37", 0, Ended("0", ran=True)),
        ("COMPLETED", "0:0", "n1", "00:00:00", 0, Ended("0", ran=True)),
        ("FAILED", "3:0", "n1", "00:00:37", 0, Ended("3", ran=True)),
        ("FAILED", "0:9", "n1", "00:00:37", 0, Ended("signal 9", ran=True)),
        ("FAILED", "0:0", "n1", "00:00:00", 0, Ended("FAILED", ran=True)),
        ("CANCELLED", "0:15", "n[1-2]", "00:00:37", 0, Ended("CANCELLED", ran=True)),
        ("TIMEOUT", "0:0", "n1", "1-00:01:00", 0, Ended("TIMEOUT", ran=True)),
        ("CANCELLED", "0:0", "(null)", "00:00:00", 0, Ended("CANCELLED", ran=False)),
        ("CANCELLED", "0:0", "", "00:00:00", 0, Ended("CANCELLED", ran=False)),
        ("CANCELLED", "0:0", "(null)", "00:00:00", 1, Ended("CANCELLED", ran=True)),
        ("RUNNING", "0:0", "n1", "00:00:37", 0, None),
        ("PENDING", "0:0", "(null)", "00:00:00", 1, None),
    ],
)
def test_history_that_slurmctld_remembers(
    state: str, exited: str, nodes: str, run_time: str, restarts: int, ended: Any
) -> None:
    """A job that was cancelled while it waited has the moment of its end as its start, and the exit code 0."""
    run = FakeRun({"scontrol -o show job 2": SHOWN.format(restarts, state, exited, run_time, nodes)})
    assert SlurmScheduler(run, "global").history("2") == ended


@pytest.mark.parametrize(
    ("said", "ended"),
    [
        ("COMPLETED|0:0|n1|37\n", Ended("0", ran=True)),
        ("FAILED|3:0|n1|0\n", Ended("3", ran=True)),
        ("TIMEOUT|0:0|n1|60\n", Ended("TIMEOUT", ran=True)),
        ("NODE_FAIL|0:0|n1|60\n", Ended("NODE_FAIL", ran=True)),
        ("PREEMPTED|0:0|n1|60\n", Ended("PREEMPTED", ran=True)),
        ("CANCELLED by 0|0:0|n1|9\n", Ended("CANCELLED", ran=True)),
        ("CANCELLED by 0|0:0|None assigned|0\n", Ended("CANCELLED", ran=False)),
        ("PENDING|0:0|None assigned|0\n", None),
        ("", None),
        (failed(1, "Slurm accounting storage is disabled"), None),
    ],
)
def test_history_of_the_accounting(said: Any, ended: Any) -> None:
    run = FakeRun({"scontrol": failed(1, "slurm_load_jobs error: Invalid job id specified"), "sacct": said})
    assert SlurmScheduler(run, "global").history("2") == ended


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10:00", 600),
        ("2-00:00:00", 172_800),
        ("1-1", 90_000),
        ("30", 30),
        ("1:00:01", 3601),
        ("infinite", None),
        ("", None),
    ],
)
def test_slurms_times(text: str, seconds: Any) -> None:
    assert parse_time_s(text) == seconds
    if seconds is not None:
        assert parse_time_s(show_time(seconds)) == seconds


def test_the_scheduler_that_the_file_names() -> None:
    for kind in ("pbs", "slurm"):
        assert open_scheduler(Cluster("a", "h", kind, "global", "/s"), FakeRun({})).kind == kind


@pytest.mark.parametrize("printed", ["abc", "", "12,13", "99999999999999999999", "News\n12;cluster\n"])
def test_the_id_of_a_submitted_job_is_the_schedulers_word_whatever_the_users_program_prints(printed: str) -> None:
    run = FakeRun({"sbatch": printed, "squeue -h -n mg_a.1_1 -u alice": "7\n"})
    assert SlurmScheduler(run, "global").submit(JOB) == "7"
    assert [call.user for call in run.calls] == ["alice", None]


def test_a_submission_of_which_the_scheduler_knows_nothing_is_unclear() -> None:
    with pytest.raises(SubmitUnclear, match=r"the scheduler has no job of this name of alice"):
        SlurmScheduler(FakeRun({"sbatch": "12\n", "s": ""}), "global").submit(JOB)


def test_a_job_that_has_ended_already_is_found_as_well() -> None:
    outputs: dict[str, Recorded] = {
        "sbatch": "", "squeue": "", "squeue -h -t all": "4\n", "sacct": "",
        "scontrol -o show job 4": SHOWN.format(0, "COMPLETED", "0:0", "00:00:01", "n1"),
    }  # fmt: skip
    assert SlurmScheduler(FakeRun(outputs), "global").submit(JOB) == "4"


@pytest.mark.parametrize(
    "answer",
    [
        failed(137, ""), failed(-9, "sbatch: error: x"), failed(TOO_MUCH, "sbatch: error: x"), failed(1, "what?"),
        failed(127, "sbatch.real: not found"),
    ],
)  # fmt: skip
def test_what_is_no_answer_of_slurm_is_no_refusal(answer: Any) -> None:
    with pytest.raises(SubmitUnclear):
        SlurmScheduler(FakeRun({"sbatch": answer}), "global").submit(JOB)


def test_a_request_as_a_user_that_is_not_answered_says_nothing_of_the_scheduler() -> None:
    run = FakeRun({"scontrol": failed(TIMED_OUT, "killed after 30 s")})
    with pytest.raises(RequestUnanswered, match="killed after 30 s"):
        SlurmScheduler(run, "global").hold("12", "alice")
