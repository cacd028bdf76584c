"""Alterations on a real server: what queuejob worked out follows them, and what could not be submitted is refused."""

from __future__ import annotations

from typing import Any

import pytest

from policy.settings.ranking_and_stripe_settings import StripeSettings
from policy.settings.site_settings import BackfillSettings, CheckpointSettings, Settings
from tests.hooks.deploy_on_testbed import REFUSING, deploy, drive, quick_settings
from tests.pbs.cluster import PbsCluster

SELECT = "1:ncpus=4:mpiprocs=4"
STRIPED = "2:ncpus=2:mpiprocs=2:ompthreads=1"
HALF = BackfillSettings("checkpoint", shrink_factor=0.5, shrink_threshold_s=3600)
SAVING = CheckpointSettings(saves=True)


def advising() -> Settings:
    stripe = StripeSettings(layout="stripe")
    return quick_settings("advise", stripe=stripe, backfill=HALF, checkpoint=SAVING, submission=REFUSING)


@pytest.fixture
def advised(pbs: PbsCluster) -> PbsCluster:
    deploy(pbs, advising())
    pbs.qmgr("set server scheduling = False")
    return pbs


def alter(pbs: PbsCluster, job_id: str, *options: str, user: str | None = "alice") -> str:
    """What qalter complains of; nothing where it does not."""
    done = pbs.run(["qalter", *options, job_id], user=user)
    assert (done.status == 0) is (done.stderr.strip() == "")
    return done.stderr.strip()


def alteration_refused(pbs: PbsCluster, job_id: str, change: str) -> str:
    """What qalter said as it refused the change: on a busy machine the hook may let some through first, as it does
    submissions (`PbsCluster.wait_for_refusal`)."""
    messages: list[str] = []

    def is_refused() -> bool:
        messages.append(alter(pbs, job_id, "-l", change))
        return bool(messages[-1])

    pbs.wait_until(is_refused, 120.0, f"qalter refuses {change}")
    return messages[-1]


def requested(pbs: PbsCluster, job_id: str, *names: str) -> list[Any]:
    resources = pbs.job(job_id)["Resource_List"]
    return [resources.get(name) for name in names]


def test_the_estimate_follows_the_walltime_up_and_down(advised: PbsCluster) -> None:
    job_id = advised.qsub("alice", walltime="10:00:00", select=SELECT)
    assert requested(advised, job_id, "soft_walltime") == ["05:00:00"]
    for walltime, estimate in (("20:00:00", "10:00:00"), ("02:00:00", "01:00:00"), ("00:30:00", None)):
        assert alter(advised, job_id, "-l", f"walltime={walltime}") == ""
        assert requested(advised, job_id, "walltime", "soft_walltime") == [walltime, estimate]
    assert alter(advised, job_id, "-l", "walltime=10:00:00") == ""
    assert alter(advised, job_id, "-l", "min_walltime=01:00:00,max_walltime=05:00:00") == ""
    assert requested(advised, job_id, "soft_walltime", "max_walltime") == [None, "05:00:00"]


def test_users_cannot_set_what_the_hook_has_set(advised: PbsCluster) -> None:
    job_id = advised.qsub("alice", walltime="10:00:00", select=SELECT)
    for change in ("soft_walltime=09:00:00", "soft_walltime=", "pbsteer_asked=1:ncpus=1", "pbsteer_asked="):
        assert "insufficient permission" in alter(advised, job_id, "-l", change)
    assert requested(advised, job_id, "soft_walltime", "pbsteer_asked") == ["05:00:00", SELECT]


def test_the_stripe_follows_select_place_and_wishes(advised: PbsCluster) -> None:
    job_id = advised.qsub("alice", select=SELECT)
    chunks = ("select", "place", "pbsteer_asked")
    assert requested(advised, job_id, *chunks) == [STRIPED, "scatter", SELECT]
    steps = [
        (f"select={SELECT}", [STRIPED, "scatter", SELECT]),
        ("select=1:ncpus=6:mpiprocs=6", ["2:ncpus=3:mpiprocs=3:ompthreads=1", "scatter", "1:ncpus=6:mpiprocs=6"]),
        ("pbsteer_width=3", ["3:ncpus=2:mpiprocs=2:ompthreads=1", "scatter", "1:ncpus=6:mpiprocs=6"]),
        ("pbsteer_layout=pack", ["1:ncpus=6:mpiprocs=6", "free", None]),
        ("pbsteer_layout=", ["3:ncpus=2:mpiprocs=2:ompthreads=1", "scatter", "1:ncpus=6:mpiprocs=6"]),
        ("place=pack", ["1:ncpus=6:mpiprocs=6", "pack", None]),
        ("place=free", ["3:ncpus=2:mpiprocs=2:ompthreads=1", "scatter", "1:ncpus=6:mpiprocs=6"]),
        ("select=1:ncpus=2", ["1:ncpus=2", "free", None]),
    ]
    for change, expected in steps:
        assert alter(advised, job_id, "-l", change) == ""
        assert (change, requested(advised, job_id, *chunks)) == (change, expected)


def test_what_could_not_be_submitted_is_refused_but_not_to_managers(advised: PbsCluster) -> None:
    advised.qmgr("set server operators = bob@*")
    for change, words in (
        ("select=1:ncpus=9:mpiprocs=1", "one chunk asks for ncpus=9"),
        ("select=1:ncpus=1:host=nosuch", "there is no such host"),
        ("pbsteer_layout=wide", "pbsteer_layout is 'wide'; allowed is pack, stripe, auto"),
    ):
        job_id = advised.qsub("alice", select=SELECT)
        assert words in alteration_refused(advised, job_id, change)
        assert alter(advised, job_id, "-l", change, user="bob") == ""
        assert alter(advised, job_id, "-l", change, user=None) == ""


def test_a_job_with_functions_of_a_shell_among_its_variables_is_altered_by_all_who_may(advised: PbsCluster) -> None:
    """``qsub -V`` takes them along, with line breaks."""
    job_id = advised.qsub("alice", select=SELECT, options=["-h", "-v", "BASH_FUNC_ml%%=() {  eval\n}"])
    assert "\n" in advised.job(job_id)["Variable_List"]["BASH_FUNC_ml%%"]
    assert alter(advised, job_id, "-N", "other") == ""
    assert alter(advised, job_id, "-p", "5", user=None) == ""
    assert alter(advised, job_id, "-W", "comment=by a pass", user=None) == ""


def test_a_managers_own_word_stands(advised: PbsCluster) -> None:
    job_id = advised.qsub("alice", walltime="10:00:00", select=SELECT)
    assert alter(advised, job_id, "-l", "soft_walltime=02:00:00", user=None) == ""
    assert alter(advised, job_id, "-l", "select=1:ncpus=6:mpiprocs=6", user=None) == ""
    seen = requested(advised, job_id, "soft_walltime", "select", "place", "pbsteer_asked")
    assert seen == ["02:00:00", "1:ncpus=6:mpiprocs=6", "free", None]


def test_a_running_job_keeps_its_chunks_and_its_owner_may_lower_the_walltime(advised: PbsCluster) -> None:
    job_id = advised.qsub("alice", walltime="10:00:00", select=SELECT)
    advised.qmgr("set server scheduling = True")
    advised.wait_for_state(job_id, "R")
    assert alter(advised, job_id, "-l", "walltime=02:00:00") == ""
    assert requested(advised, job_id, "walltime", "soft_walltime") == ["02:00:00", "01:00:00"]
    assert "while job running" in alter(advised, job_id, "-l", "select=1:ncpus=1")
    assert requested(advised, job_id, "select") == [STRIPED]


def test_arrays_follow_too_and_other_attributes_are_left_alone(advised: PbsCluster) -> None:
    array = advised.qsub("alice", walltime="10:00:00", select=SELECT, options=["-J", "1-3"])
    assert alter(advised, array, "-l", "walltime=04:00:00") == ""
    assert requested(advised, array, "soft_walltime", "select") == ["02:00:00", STRIPED]
    assert alter(advised, array, "-N", "renamed", "-p", "5") == ""
    assert advised.job(array)["Job_Name"] == "renamed"


def test_a_driven_job_that_was_cut_takes_a_new_select_as_its_own(advised: PbsCluster) -> None:
    before = len(advised.server_log())
    job_id = advised.qsub("alice", "sleep 600\n", select=SELECT, options=["-h"])
    drive(advised)
    assert alter(advised, job_id, "-l", "select=1:ncpus=2") == ""
    assert requested(advised, job_id, "select", "place", "pbsteer_asked") == ["1:ncpus=2", "free", None]
    advised.run(["qrls", job_id]).demand_success()
    advised.wait_for_state(job_id, "R")
    assert "hook failed" not in advised.server_log()[before:]
