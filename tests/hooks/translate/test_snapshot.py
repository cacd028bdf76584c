"""What a server says becomes what the policy sees, also where it says odd things."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.pbs.job_attributes.job_ids_and_states import read_indices
from hooks.pbs.server_status_type_and_attributes import JOB_ATTRIBUTES, ServerStatus
from hooks.translate.snapshot import Known, translate
from policy.cycle.engine import decide
from policy.model.job_preferences import Layout, RankPreference, Requirements
from policy.model.jobs_runs_vnodes_queues import Run
from policy.model.ledger_between_passes import Ledger
from policy.settings.settings_of_server_and_passes import SubmissionSettings
from policy.settings.site_settings import OrderSettings, Settings
from tests.hooks.sample_server_statuses import (
    NOW_S,
    RESOURCES,
    job,
    only_job,
    problems_of,
    queue,
    running,
    server_status,
    snapshot_of,
    vnode,
)

SETTINGS = Settings()


def test_a_waiting_job_is_what_was_asked_for() -> None:
    seen = only_job(job(Priority="7", Resource_List__select="2:ncpus=3:mem=1gb+1:ncpus=1", Rerunable="False"))
    assert (seen.user, seen.group, seen.queue, seen.name, seen.sequence) == ("alice", "chem", "workq", "STDIN", 12)
    assert (seen.cores, seen.request.amount("mem"), seen.estimate_s, seen.submit_s) == (7, 2 << 20, 600, 1795207000)
    assert (seen.own_priority, seen.rerunable, seen.blocked, seen.subjobs) == (7, False, "", None)


def test_a_job_without_rerunable_is_one_that_pbs_does_not_requeue() -> None:
    """qsub always sends it; other programs may leave it out."""
    texts = job()
    del texts["Rerunable"]
    assert not only_job(texts).rerunable
    assert only_job(job()).rerunable


@pytest.mark.parametrize(
    ("user_priority", "of_manager", "expected"),
    [
        ("none", "", (0, 0)),
        ("within-user", "", (0, 7)),
        ("all", "", (7, 0)),
        ("none", "100", (100, 0)),
        ("within-user", "100", (100, 7)),
        ("all", "100", (107, 0)),
        ("within-user", "-99999", (-1024, 7)),
        ("within-user", "x", (0, 7)),
    ],
)
def test_what_orders_all_and_what_the_users_own(user_priority: str, of_manager: str, expected: tuple[int, int]) -> None:
    settings = replace(SETTINGS, order=OrderSettings(user_priority))
    texts = job(Priority="7", Resource_List__pbsteer_priority=of_manager)
    seen = snapshot_of(server_status({"12.server": texts}), settings).jobs["12.server"]
    assert (seen.priority, seen.own_priority) == expected


def test_the_select_with_the_servers_defaults_counts_before_the_users() -> None:
    assert only_job(job(schedselect="1:ncpus=4:Qlist=workq")).request.chunks[0].wants == (("Qlist", "workq"),)


def test_a_sites_own_size_without_a_unit_is_in_bytes_as_in_pbs() -> None:
    """The user's own select, which pbsteer keeps of a striped job, is as the user wrote it."""
    resources = {**RESOURCES, "scratch": {"type": "size", "flag": "hn"}}
    for texts in (
        job(Resource_List__select="1:ncpus=2:scratch=1000000000", schedselect=""),
        job(schedselect="2:ncpus=1:scratch=488282b", Resource_List__pbsteer_asked="1:ncpus=2:scratch=1000000000"),
    ):
        snapshot = snapshot_of(server_status({"12.server": texts}, resources=resources), SETTINGS)
        assert snapshot.jobs["12.server"].request.amount("scratch") == 976563


def test_a_job_without_select_asks_for_all_on_one_vnode() -> None:
    texts = job(Resource_List__ncpus="5", Resource_List__mem="2gb", Resource_List__licences="3")
    del texts["Resource_List.select"]
    (chunk,) = only_job(texts).request.chunks
    assert (chunk.pieces, chunk.amounts) == (1, (("mem", 2 << 20), ("ncpus", 5)))


def test_a_select_beyond_the_bounds_blocks_the_job_without_being_read() -> None:
    costly = "+".join(f"1:ncpus=0:mem={n + 1}kb" for n in range(5000)) + "+1:ncpus=8"
    texts = job(Resource_List__select=costly, Resource_List__ncpus="8", schedselect=costly)
    problems = problems_of(server_status({"12.server": texts}), SETTINGS)
    seen = only_job(texts)
    assert "its select has" in seen.blocked
    assert "allowed are" in seen.blocked
    assert (seen.cores, seen.request.only_cores) == (8, True)
    assert problems == ()
    parsed = Settings(submission=SubmissionSettings(select_length=0, select_kinds=0))
    unbounded = snapshot_of(server_status({"12.server": texts}), parsed).jobs["12.server"]
    assert (unbounded.blocked, len(unbounded.request.chunks)) == ("", 5001)


def test_a_job_of_more_processes_than_the_bound_waits() -> None:
    many = "2:ncpus=1:mpiprocs=2147483647"
    seen = only_job(job(Resource_List__select=many, Resource_List__ncpus="2", schedselect=many))
    assert "it asks for 4,294,967,294 processes (chunks times mpiprocs); allowed are 1,000,000" in seen.blocked


def test_a_job_without_walltime_never_ends_by_itself() -> None:
    texts = running()
    del texts["Resource_List.walltime"]
    run = snapshot_of(server_status({"12.server": texts}), SETTINGS).runs["12.server"]
    assert (run.job.estimate_s, run.end_s) == (math.inf, math.inf)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (job("H", Hold_Types="u"), "held by its owner"),
        (job("H", Hold_Types="so"), "held by an operator and a manager or the system"),
        (
            job("H", Hold_Types="s", depend="afterok:11.server@server"),
            "waits for other jobs (afterok:11.server@server)",
        ),
        (job("T"), "being moved"),
        (job("S"), "suspended"),
        (job("W"), "waits"),
        (job("?"), "'?'"),
        (job(Resource_List__select="1:ncpus=lots"), "ncpus=lots"),
        (job(Resource_List__select="one:ncpus"), "cannot be read"),
        (job(Resource_List__place="everywhere"), "everywhere"),
        (job(Resource_List__walltime="noon"), "noon"),
    ],
)
def test_a_job_that_must_not_start_says_why(texts: dict[str, str], words: str) -> None:
    assert words in only_job(texts).blocked


def test_a_job_with_a_start_time_waits_for_it() -> None:
    seen = only_job(job("W", Execution_Time="1795210000"))
    assert (seen.not_before_s, seen.blocked) == (1795210000, "")


def test_what_cannot_be_read_is_listed_with_the_job() -> None:
    (problem,) = problems_of(server_status({"12.server": job(Resource_List__walltime="noon")}), SETTINGS)
    assert "job 12.server" in problem
    assert "noon" in problem


def test_an_array_is_one_job_with_the_indices_that_wait_and_runs_for_the_others() -> None:
    snapshot = snapshot_of(
        server_status(
            {
                "8[].server": job("B", 1, array_indices_remaining="1,3-5"),
                "8[2].server": running(1),
                "8[6].server": running(1, job_state="E"),
            }
        ),
        SETTINGS,
    )
    assert snapshot.jobs["8[].server"].subjobs == (1, 3, 4, 5)
    runs = snapshot.runs
    assert {run_id: (run.subjob, run.exiting) for run_id, run in runs.items()} == {
        "8[2].server": (2, False),
        "8[6].server": (6, True),
    }
    assert {run.job.id for run in runs.values()} == {"8[].server"}


def test_an_array_of_which_nothing_waits_is_no_waiting_job() -> None:
    snapshot = snapshot_of(
        server_status({"8[].server": job("B", array_indices_remaining="-"), "8[2].server": running()}), SETTINGS
    )
    assert (list(snapshot.jobs), list(snapshot.runs)) == ([], ["8[2].server"])


@pytest.mark.parametrize(("most", "subjobs"), [("3", (1, 3)), ("9", (1, 3, 4, 5)), ("0", (1, 3, 4, 5))])
def test_an_array_shows_no_more_subjobs_than_its_own_limit_lets_run(most: str, subjobs: tuple[int, ...]) -> None:
    jobs = {"8[].server": job("B", array_indices_remaining="1,3-5", max_run_subjobs=most), "8[2].server": running()}
    assert snapshot_of(server_status(jobs), SETTINGS).jobs["8[].server"].subjobs == subjobs


def test_an_array_at_its_own_limit_says_so() -> None:
    jobs = {"8[].server": job("B", array_indices_remaining="3", max_run_subjobs="1"), "8[2].server": running()}
    assert "max_run_subjobs = 1" in snapshot_of(server_status(jobs), SETTINGS).jobs["8[].server"].blocked


@pytest.mark.parametrize(
    ("text", "indices"), [("", ()), ("-", ()), ("7", (7,)), ("1,3-5", (1, 3, 4, 5)), ("2-8:3", (2, 5, 8))]
)
def test_indices_are_read_as_pbs_writes_them(text: str, indices: tuple[int, ...]) -> None:
    unread: list[str] = []
    assert read_indices(text, unread) == indices
    assert unread == []


@pytest.mark.parametrize("text", ["x", "1-x", "1-5:0", "1,,x"])
def test_indices_that_make_no_sense_block_the_array(text: str) -> None:
    assert "array_indices_remaining" in only_job(job("B", array_indices_remaining=text), "8[].server").blocked


def test_a_held_job_that_waits_for_more_than_its_release_says_so() -> None:
    depend, later = {"depend": "afterok:7.server@server"}, {"Execution_Time": str(int(NOW_S) + 60)}
    for more, expected_text in (
        ({"Hold_Types": "u"}, "it is held by its owner: releasing it lets it run"),
        ({"Hold_Types": "u", **depend}, "it is held by its owner, and waits for other jobs (afterok:7.server@server)"),
        ({"Hold_Types": "o", **later}, "it is held by an operator, and has a start time that is still to come"),
        (
            {"Hold_Types": "u", **depend, **later},
            "it is held by its owner, and waits for other jobs (afterok:7.server@server) and has a start time that is"
            " still to come",
        ),
        (
            {"Hold_Types": "us", **depend},
            "it is held by its owner and a manager or the system, and waits for other jobs (afterok:7.server@server)",
        ),
        ({"Hold_Types": "s", **depend}, "it waits for other jobs (afterok:7.server@server)"),
    ):
        assert only_job(job("H", 1, "workq", "alice", **more)).blocked == expected_text


def test_a_job_that_a_manager_keeps_from_being_top_job_is_known_as_such() -> None:
    assert "topjob_ineligible" in JOB_ATTRIBUTES
    assert only_job(job("Q", topjob_ineligible="True")).topjob_ineligible
    assert not only_job(job("Q", topjob_ineligible="False")).topjob_ineligible
    assert not only_job(job("Q")).topjob_ineligible


def test_of_an_over_wide_array_no_more_subjobs_are_read_than_one_may_have() -> None:
    array = only_job(job("B", array_indices_remaining="7,10-9999999999:2"), "8[].server")
    assert (array.blocked, len(array.subjobs or ()), (array.subjobs or ())[:3]) == ("", 10_000, (7, 10, 12))


def test_a_job_that_depends_on_too_many_waits_and_its_list_is_not_parsed() -> None:
    depend = "runone:" + ":".join(f"{number}.server@server" for number in range(501))
    assert only_job(job("Q", 1, depend=depend)).blocked == (
        "it depends on 501 jobs; allowed are 500 (submission.depend_jobs)"
    )


def test_what_others_make_depend_on_a_job_says_nothing_about_it() -> None:
    """PBS adds each to the job's own ``depend``, whoever has submitted it."""
    added = "beforeany:" + ":".join(f"{number}.server@server" for number in range(600))
    assert only_job(job("Q", 1, depend=added)).blocked == ""
    held = only_job(job("H", 1, Hold_Types="s", depend=f"{added},afterok:7.server@server"))
    assert held.blocked == "it waits for other jobs (afterok:7.server@server)"


def test_a_job_that_names_a_reservation_counts_as_one_that_may_not_be_rerun() -> None:
    """PBS requeues no such job, whatever queue it is in."""
    assert only_job(job("Q", 1)).rerunable
    assert not only_job(job("Q", 1, reserve_ID="R9.server")).rerunable


def test_a_run_is_where_pbs_put_it_until_its_walltime_is_over() -> None:
    run: Run = snapshot_of(
        server_status({"12.server": running(exec_vnode="(v1:ncpus=2:mem=1048576kb)+(v2:ncpus=2)")}), SETTINGS
    ).runs["12.server"]
    assert (run.allocation.vnodes, run.allocation.total("ncpus"), run.start_s) == (("v1", "v2"), 4, 1795207100)
    assert run.end_s == 1795207700


def test_a_job_that_is_just_starting_starts_now() -> None:
    texts = running()
    del texts["stime"]
    assert snapshot_of(server_status({"12.server": texts}), SETTINGS).runs["12.server"].start_s == NOW_S


def test_a_job_that_is_being_staged_in_began_before_the_pass() -> None:
    """What begins at the moment of a pass is no victim if it is a subjob, and staging has no end of its own."""
    texts = {**running(), "substate": "15"}
    del texts["stime"]
    assert snapshot_of(server_status({"12.server": texts}), SETTINGS).runs["12.server"].start_s == NOW_S - 1


def test_jobs_in_reservations_are_left_to_pbs() -> None:
    seen = server_status(
        {"12.server": running(queue="R11"), "13.server": job(queue="lunch")},
        {"v1": vnode(used=2)},
        {"workq": queue(), "R11": queue(), "lunch": queue()},
        reservations={"S14.server": {"queue": "lunch"}},
    )
    translation = translate(seen, SETTINGS)
    assert (translation.snapshot.jobs, translation.snapshot.runs) == ({}, {})
    assert list(translation.modes) == ["workq"]
    assert translation.snapshot.vnodes["v1"].elsewhere == {"ncpus": 2}


def test_a_waiting_job_that_still_has_its_vnodes_is_pinned_to_them() -> None:
    seen = only_job(job(exec_vnode="(v2:ncpus=2:mem=1048576kb)+(v2:ncpus=2:mem=1048576kb)+(v1:ncpus=1)"))
    assert seen.pinned == ("v2", "v1")
    assert [(c.pieces, c.amounts, c.wants) for c in seen.request.chunks] == [
        (2, (("mem", 1 << 20), ("ncpus", 2)), (("vnode", "v2"),)),
        (1, (("ncpus", 1),), (("vnode", "v1"),)),
    ]
    assert "exec_vnode" in only_job(job(exec_vnode="(v1")).blocked
    assert only_job(job()).pinned == ()


def test_a_run_is_not_pinned() -> None:
    run = snapshot_of(server_status({"12.server": running()}), SETTINGS).runs["12.server"]
    assert (run.job.pinned, run.job.request.chunks[0].wants) == ((), ())


@pytest.mark.parametrize("name", ["aoe", "eoe"])
def test_a_job_that_wants_its_vnodes_provisioned_waits(name: str) -> None:
    seen = only_job(job(schedselect=f"1:ncpus=1:{name}=debian"))
    assert seen.blocked == f"it asks for {name}=debian, and pbsteer provisions no vnodes"


def test_of_jobs_that_are_alternatives_one_starts_in_a_pass() -> None:
    def alternatives(**states: str) -> ServerStatus:
        ids = [f"{number}.s" for number in (1, 2, 3)]
        depend = {mine: "runone:" + ":".join(f"{other}@s" for other in ids if other != mine) for mine in ids}
        jobs = {mine: job(depend=f"{depend[mine]},after:9.s@s") for mine in ids}
        for name, state in states.items():
            jobs[f"{name[1:]}.s"]["job_state"] = state
        return server_status({**jobs, "4.s": job(depend="after:9.s@s")})

    seen = translate(alternatives(), SETTINGS).snapshot
    plan = decide(seen, Ledger(), SETTINGS)
    assert [start.id for start in plan.starts] == ["1.s", "4.s"]
    assert plan.reasons()["2.s"][1].sentence(seen.jobs["2.s"], NOW_S) == (
        "may not start: only one of 1.s and 2 others is to run, and another one starts or is next"
    )
    for states in ({"j2": "R"}, {"j2": "E"}, {"j2": "S"}):
        plan = decide(translate(alternatives(**states), SETTINGS).snapshot, Ledger(), SETTINGS)
        assert [start.id for start in plan.starts] == ["4.s"], states
    plan = decide(translate(alternatives(j1="H", j2="W"), SETTINGS).snapshot, Ledger(), SETTINGS)
    assert [start.id for start in plan.starts] == ["3.s", "4.s"]


def test_what_a_user_wrote_is_kept_as_it_is() -> None:
    name = "[/red][@click=app.quit]x[/]\x1b[2J\n\U0001f600"
    assert only_job(job(Job_Name=name)).name == name


_texts = st.dictionaries(
    st.sampled_from(sorted(job() | running() | vnode() | {"Execution_Time": "", "depend": "", "Hold_Types": ""})),
    st.text(max_size=20),
)


@given(
    st.dictionaries(st.sampled_from(["1.s", "2[].s", "2[3].s", "x"]), _texts),
    st.dictionaries(st.sampled_from(["v1", "v2"]), _texts),
    st.dictionaries(st.sampled_from(["workq", "R1"]), _texts),
)
def test_no_text_whatever_makes_it_raise(
    jobs: dict[str, dict[str, str]], vnodes: dict[str, dict[str, str]], queues: dict[str, dict[str, str]]
) -> None:
    snapshot_of(server_status(jobs, vnodes, queues), SETTINGS)


def test_a_picture_survives_the_way_to_the_console() -> None:
    seen = server_status({"12.server": running()})
    assert ServerStatus.from_data(seen.to_data()) == seen


@pytest.mark.parametrize(("text", "saves"), [("n", False), ("u", None), ("c=10", None), ("", None)])
def test_a_job_that_forbids_checkpoints_cannot_save(text: str, saves: bool | None) -> None:
    assert only_job(job(Checkpoint=text)).saves is saves


def test_a_job_that_was_requeued_has_saved_nothing_that_pbs_knows_of() -> None:
    assert only_job(job(run_count="2", resources_used__walltime="01:00:00")).saved_s == 0.0


def test_wishes_of_a_job_and_of_its_subjobs_are_read() -> None:
    wished = job(
        "B", 4, array_indices_remaining="3", Resource_List__pbsteer_rank="memory", Resource_List__pbsteer_min_mem="1gb",
        Resource_List__pbsteer_layout="stripe", Resource_List__pbsteer_width="2", Resource_List__pbsteer_app="wrf",
    )  # fmt: skip
    snapshot = snapshot_of(server_status({"8[].server": wished, "8[2].server": running()}), SETTINGS)
    for seen in (snapshot.jobs["8[].server"], snapshot.runs["8[2].server"].job):
        assert seen.rank == RankPreference("memory", Requirements(memory_kib=1 << 20))
        assert (seen.layout, seen.application) == (Layout("stripe", 2), "wrf")


def test_a_job_of_a_server_that_does_not_define_our_resources_wishes_for_nothing() -> None:
    seen = only_job(job(Account_Name="wrf"))
    assert (seen.rank, seen.layout, seen.application, seen.deferrable) == (None, None, "", False)


def test_a_wish_that_makes_no_sense_blocks_the_job_and_is_listed() -> None:
    seen = server_status({"12.server": job(Resource_List__pbsteer_layout="wide")})
    assert snapshot_of(seen, SETTINGS).jobs["12.server"].blocked == (
        "pbsteer_layout is 'wide'; allowed is pack, stripe, auto, which cannot be read"
    )
    assert problems_of(seen, SETTINGS) == ("job 12.server: pbsteer_layout is 'wide'; allowed is pack, stripe, auto",)


def test_a_job_that_depends_on_other_jobs_is_translated_anew_when_those_change() -> None:
    """An array at its max_run_subjobs, and one of two alternatives: their own texts are the same objects."""
    array = job("B", array_indices_remaining="3", max_run_subjobs="1")
    one, plain = job(depend="runone:7.server@server"), job()
    known = Known()
    before = {"8[].server": array, "8[2].server": running(), "6.server": one, "7.server": job(), "9.server": plain}
    first = translate(server_status(before), SETTINGS, known=known).snapshot.jobs
    assert "max_run_subjobs" in first["8[].server"].blocked
    assert first["6.server"].job_wide == (("one of 6.server and 1 other", 1),)
    after = {"8[].server": array, "6.server": one, "7.server": running(), "9.server": plain}
    second = translate(server_status(after), SETTINGS, known=known).snapshot.jobs
    assert second["8[].server"].blocked == ""
    assert second["9.server"] is first["9.server"]
    alone = translate(server_status({"6.server": job()}), SETTINGS, known=known).snapshot.jobs
    assert alone["6.server"].job_wide == ()
    assert known.find("9.server", plain) is None, "a job that is gone is kept nowhere"
