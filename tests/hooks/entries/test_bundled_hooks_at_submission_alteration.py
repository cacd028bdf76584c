"""The bundled hooks at a submission and an alteration: what they refuse, set, and keep from being undone."""

from __future__ import annotations

import time
from typing import Any

import pytest

from hooks.store.event_hook_summary import SUMMARY
from tests.hooks.entries.submission_alteration_settings import (
    COSTLY,
    HALF,
    IN_ADVISE_TOO,
    MODES,
    STRIPED,
    alter,
    summary_of,
)
from tests.hooks.run_bundled_hook import SUMMARY_DATA, VNODES, Hook, submit
from tests.hooks.sample_server_statuses import job, queue, running, server_status


def test_queuejob_refuses_accepts_and_shrinks_several_times_in_one_interpreter(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    events = [
        submit(select="1:ncpus=9"),
        submit(select="1:ncpus=8", walltime="10:00:00"),
        {"queue": None, "Resource_List": {"ncpus": "9"}},
        submit(),
    ]
    answer = hook.run("queuejob", events=events, settings={**HALF, **IN_ADVISE_TOO})
    refused = [
        verdict is not None and verdict.startswith("pbsteer: this job can never") for verdict in answer["verdicts"]
    ]
    assert refused == [True, False, True, False]
    assert [event["ended"] for event in answer["events"]] == ["255", "0", "255", "0"]
    assert answer["events"][1]["resources"]["soft_walltime"] == "05:00:00"
    assert answer["logged"] == []


@pytest.mark.parametrize("mode", MODES)
def test_what_is_let_through_asks_pbs_for_no_object_of_the_whole_server(hook: Hook, mode: str) -> None:
    """PBS takes three times as long to make it as the hook for all else."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    one = {"select": "1:ncpus=4", "walltime": "10:00:00"}
    for event, given in (("queuejob", submit(**one)), ("modifyjob", alter(one, {"walltime": "08:00:00"}))):
        answer = hook.run(event, events=[given, {**given, "Priority": 7}], settings=HALF)
        assert (answer["verdicts"], answer["server calls"]) == ([None, None], 0)


def test_queuejob_refuses_a_wish_that_makes_no_sense_and_says_what_is_allowed(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    answer = hook.run("queuejob", events=[submit(pbsteer_layout="wide"), submit(pbsteer_layout="stripe")])
    refusal = "this job can never run as it asks: pbsteer_layout is 'wide'; allowed is pack, stripe, auto"
    assert answer["verdicts"] == [f"pbsteer: {refusal}", None]


def test_queuejob_stripes_in_the_select_and_again_changes_nothing_more(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    settings = {"stripe": {"layout": "stripe"}}
    moved = {**submit(**STRIPED), "requestor": "olga"}
    events = [submit(select="1:ncpus=4:mpiprocs=4"), moved, submit(select="1:ncpus=4", place="pack")]
    answer = hook.run("queuejob", events=events, settings=settings)
    resources = [event["resources"] for event in answer["events"]]
    assert resources == [STRIPED, STRIPED, {"select": "1:ncpus=4", "place": "pack"}]
    moved = {**submit(**STRIPED), "requestor": "olga"}
    unset = hook.run("queuejob", events=[moved])["events"][0]["resources"]
    assert unset == {"select": "1:ncpus=4:mpiprocs=4", "place": "free", "pbsteer_asked": ""}


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_a_select_beyond_the_bounds_is_refused_at_submission_and_alteration(
    hook: Hook, mode: str
) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    bounds = "257 kinds of chunks, counting equal neighbours once; allowed are 256"
    submitted = [submit(select=COSTLY), submit(nodes=COSTLY), {**submit(select=COSTLY), "requestor": "olga"}]
    for event, events in (("queuejob", submitted), ("modifyjob", [alter({"select": "1"}, {"select": COSTLY})])):
        verdicts = hook.run(event, events=events)["verdicts"]
        assert all(bounds in str(verdict) for verdict in verdicts), verdicts
        unbounded = {"submission": {"select_kinds": 0, "select_length": 0, "refuse_impossible": "never"}}
        assert hook.run(event, events=events, settings=unbounded)["verdicts"] == [None] * len(events)


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_a_name_with_a_line_break_is_refused_at_submission_and_alteration(hook: Hook, mode: str) -> None:
    """PBS writes the name into its log as it is, and the audit is read from there."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    names = ["good", "a\nb", "a\rb"]
    submitted = [{**submit(select="1:ncpus=1"), "Job_Name": name} for name in names]
    altered = [alter({"select": "1:ncpus=1"}, {}, Job_Name=name) for name in names]
    for event, events in (("queuejob", submitted), ("modifyjob", altered)):
        verdicts = hook.run(event, events=events)["verdicts"]
        assert verdicts == [None, *["pbsteer: its name has a line break"] * 2]


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_texts_with_line_breaks_that_pbs_logs_are_refused(hook: Hook, mode: str) -> None:
    """Its accounting log has them as they are, and of an alteration all that it names."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    one = {"select": "1:ncpus=1"}
    for name in ("Account_Name", "project"):
        events = {"queuejob": {**submit(**one), name: "a\nb"}, "modifyjob": {**alter(one, {}), name: "a\nb"}}
        for event, given in events.items():
            assert hook.run(event, events=[given])["verdicts"] == [f"pbsteer: its {name} has a line break"]
    for event, given in (("queuejob", submit(**one, software="a\rb")), ("modifyjob", alter(one, {"software": "a\nb"}))):
        assert hook.run(event, events=[given])["verdicts"] == ["pbsteer: its resource software has a line break"]
    several = {"Variable_List": "A=1\nB", "Submit_arguments": "-- sh -c 'a\nb'"}
    assert hook.run("queuejob", events=[{**submit(**one), **several}])["verdicts"] == [None]
    (verdict,) = hook.run("modifyjob", events=[{**alter(one, {}), **several}])["verdicts"]
    assert verdict == "pbsteer: its Submit_arguments has a line break"


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_a_resource_that_is_deeply_nested_json_is_refused(hook: Hook, mode: str) -> None:
    """PBS's qstat prints it as JSON, many times as long, which a program that reads all jobs could not read."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    one = {"select": "1:ncpus=1"}
    texts = [
        "[" * 990 + "]" * 990,
        ' {"":' * 9 + "1" + "}" * 9,
        "[" * 8 + "]" * 8,
        "a[[[[[[[[[",
        '{"a": [1, {"b": 2}]}',
    ]
    events = {
        "queuejob": [submit(**one, software=text) for text in texts],
        "modifyjob": [alter(one, {"software": text}) for text in texts],
    }
    for event, given in events.items():
        deep, nine, *others = hook.run(event, events=given)["verdicts"]
        assert str(deep).startswith("pbsteer: its resource software has 990 brackets in each other; allowed are 8")
        assert "has 9 brackets" in str(nine)
        assert others == [None] * 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["Submit_arguments", "argument_list"])
def test_in_every_mode_arguments_that_are_deeply_nested_json_are_refused(hook: Hook, mode: str, name: str) -> None:
    """PBS's own commands send none."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    one, texts = {"select": "1:ncpus=1"}, ['{"":' * 9 + "1" + "}" * 9, '-- /bin/echo {"":1}']
    for event, given in (("queuejob", submit(**one)), ("modifyjob", alter(one, {}))):
        deep, usual = hook.run(event, events=[{**given, name: text} for text in texts])["verdicts"]
        assert str(deep).startswith(f"pbsteer: its {name} has 9 brackets in each other; allowed are 8"), event
        assert usual is None


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_an_array_that_pbs_would_never_count_through_is_refused(hook: Hook, mode: str) -> None:
    """Also without a bound on the number of subjobs: once such an array is deleted, the server answers no more."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    texts = ["1-2147483647:2147483646", "0-2000000000:1000000000", "2147483647", "5,1-2147483646:1000000000%3"]
    for settings in ({}, {"submission": {"array_size": 0}}):
        arrays = [{**submit(select="1:ncpus=1"), "array_indices_submitted": text} for text in texts]
        verdicts = hook.run("queuejob", events=arrays, settings=settings)["verdicts"]
        assert all("allowed are 2,147,483,647, as PBS counts" in str(verdict) for verdict in verdicts), verdicts
    last = {**submit(select="1:ncpus=1"), "array_indices_submitted": "2147483646"}
    assert hook.run("queuejob", events=[last])["verdicts"] == [None]


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_dependencies_that_pbs_lets_only_owners_register_are_refused_to_others(
    hook: Hook, mode: str
) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    jobs = {
        "7.server": {"queue": "workq", "Job_Owner": "bob@server", "depend": "on:1"},
        "8.server": {"queue": "workq", "Job_Owner": "alice@server", "depend": "on:1"},
    }
    one = {"select": "1:ncpus=1"}
    depends = ["beforeok:7.server", "runone:7.server", "afterok:7.other", "beforeok:8.server", "afterok:7.server"]
    expected = ["not a job of alice's", "not a job of alice's", "allowed are jobs at this server", "None", "None"]
    submitted = [{**submit(**one), "requestor": "alice", "depend": depend} for depend in depends]
    altered = [alter(one, {}, depend=depend) for depend in depends]
    for given in altered:
        given["job_o"]["Job_Owner"] = "alice@login"
    for event, events in (("queuejob", submitted), ("modifyjob", altered)):
        verdicts = [str(each) for each in hook.run(event, events=events, jobs=jobs)["verdicts"]]
        assert all(text in verdict for text, verdict in zip(expected, verdicts)), verdicts
    managed = [{**given, "requestor": "olga"} for given in submitted]
    assert hook.run("queuejob", events=managed, jobs=jobs)["verdicts"] == [None] * len(depends)
    peers = {"submission": {"depend_servers": "any"}}
    assert hook.run("queuejob", events=[submitted[2]], jobs=jobs, settings=peers)["verdicts"] == [None]


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_users_name_no_reservation_at_submission(hook: Hook, mode: str) -> None:
    """PBS would never requeue such a job, so it could never be a victim."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    forged = {**submit(select="1:ncpus=1"), "reserve_ID": "R9.server"}
    moved = {**submit(select="1:ncpus=1"), "reserve_ID": "R9.server", "requestor": "olga"}
    verdicts = hook.run("queuejob", events=[forged, moved, {**submit(select="1:ncpus=1"), "reserve_ID": None}])[
        "verdicts"
    ]
    assert "names a reservation (reserve_ID)" in verdicts[0]
    assert verdicts[1:] == [None, None]


@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_texts_beyond_the_bound_are_refused_at_submission_and_alteration(hook: Hook, mode: str) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    half, rest = "x" * 5_000, "y" * 4_000
    one = {"select": "1:ncpus=1"}
    submitted = [submit(**one, software=half), submit(**one, software=half, site_text=rest)]
    altered = [alter({**one, "software": half}, {"site_text": text}) for text in ("z", rest)]
    again = [alter({**one, "software": half}, {"software": rest})]
    for event, events in (("queuejob", submitted), ("modifyjob", altered)):
        within, beyond = hook.run(event, events=events)["verdicts"]
        assert within is None
        assert "what it asks for beside its select has 9,000 characters; allowed are 8,192" in beyond
        unbounded = {"submission": {"text_length": 0}}
        assert hook.run(event, events=events, settings=unbounded)["verdicts"] == [None, None]
    assert hook.run("modifyjob", events=again)["verdicts"] == [None]


BEYOND = {
    "array_indices_submitted": (
        "0-9999999:1%5",
        "it has 10,000,000 subjobs; allowed are 10,000",
    ),
    "depend": (
        "afterok:" + ":".join(["1.server"] * 501),
        "it depends on 501 jobs; allowed are 500",
    ),
    "Account_Name": ("a" * 8_193, "characters; allowed are 8,192 (submission.text_length)"),
    "Variable_List": ("A=" + "a" * 131_071, "131,073 characters; allowed are 131,072"),
    "Output_Path": (
        "host:/" + "a" * 131_067,
        "131,073 characters; allowed are 131,072",
    ),
}


@pytest.mark.parametrize("name", BEYOND)
@pytest.mark.parametrize("mode", MODES)
def test_in_every_mode_a_job_beyond_the_bounds_is_refused_at_submission_and_alteration(
    hook: Hook, mode: str, name: str
) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    text, words = BEYOND[name]
    one = {"select": "1:ncpus=1"}
    bounds = ("array_size", "depend_jobs", "text_length", "environment_length")
    unbounded = {"submission": dict.fromkeys(bounds, 0)}
    for event, given in (("queuejob", submit(**one)), ("modifyjob", alter(one, {}))):
        (verdict,) = hook.run(event, events=[{**given, name: text}])["verdicts"]
        assert words in str(verdict)
        assert hook.run(event, events=[{**given, name: text}], settings=unbounded)["verdicts"] == [None]


def test_the_texts_of_a_job_count_together_whichever_they_are(hook: Hook) -> None:
    texts = {"software": "x" * 3_000, "site_text": "y" * 3_000}
    job = {**submit(select="1:ncpus=1", **texts), "Account_Name": "a" * 1_500, "depend": "afterok:" + "1" * 1_500}
    (verdict,) = hook.run("queuejob", events=[job])["verdicts"]
    assert "what it asks for beside its select has 9,008 characters" in verdict
    before = alter({"select": "1:ncpus=1", **texts}, {}, Account_Name="a" * 3_000)
    within = alter({"select": "1:ncpus=1", **texts}, {}, Account_Name="a" * 2_000)
    refused, allowed = hook.run("modifyjob", events=[before, within])["verdicts"]
    assert "9,000 characters" in refused
    assert allowed is None


@pytest.mark.parametrize("mode", MODES)
def test_values_that_only_pbsteer_writes_are_dropped_in_every_mode(hook: Hook, mode: str) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    forged = {"select": "1:ncpus=1", "pbsteer_asked": "2:ncpus=4", "pbsteer_priority": "1024"}
    answer = hook.run("queuejob", events=[submit(**forged), {**submit(pbsteer_priority="9"), "requestor": "olga"}])
    assert answer["verdicts"] == [None, None]
    dropped = {"select": "1:ncpus=1", "pbsteer_asked": "", "pbsteer_priority": ""}
    assert answer["events"][0]["resources"] == dropped
    assert answer["events"][1]["resources"]["pbsteer_priority"] == "9"


@pytest.mark.parametrize(
    ("choice", "refused_in"),
    [("never", ()), ("drive", ("drive",)), ("advise", ("advise", "drive")), (None, ("drive",))],
)
@pytest.mark.parametrize("mode", MODES)
def test_what_can_never_run_is_refused_only_where_pbsteer_starts_jobs(
    hook: Hook, mode: str, choice: str | None, refused_in: tuple[str, ...]
) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    settings = {"submission": {"refuse_impossible": choice}} if choice else {}
    asked = "1:ncpus=9:host=nowhere"
    for event, given in (("queuejob", submit(select=asked)), ("modifyjob", alter({"select": "1"}, {"select": asked}))):
        (verdict,) = hook.run(event, events=[given], settings=settings)["verdicts"]
        assert (verdict is not None) is (mode in refused_in), (event, verdict)


def test_an_estimate_is_shrunk_only_of_a_job_that_can_be_cut_also_once_it_is_altered(hook: Hook) -> None:
    hook.state.publish(SUMMARY, SUMMARY_DATA, shared=False)
    long = {"select": "1:ncpus=8", "walltime": "10:00:00"}
    events = [{**submit(**long), **more} for more in ({}, {"Rerunable": 0}, {"Checkpoint": "n"}, {"Rerunable": None})]
    answer = hook.run("queuejob", events=events, settings=HALF)
    assert [event["resources"].get("soft_walltime") for event in answer["events"]] == [
        "05:00:00", None, None, None,
    ]  # fmt: skip
    events = [alter({**long, "soft_walltime": "05:00:00"}, {}, Rerunable=0), alter(long, {}, Rerunable=1)]
    for event in events:
        event["job_o"].update({"Rerunable": 1 - event["Rerunable"], "Checkpoint": "u"})
    answer = hook.run("modifyjob", events=events, settings=HALF)
    assert [event["resources"].get("soft_walltime") for event in answer["events"]] == ["", "05:00:00"]


def test_queuejob_predicts_from_what_the_passes_have_learned(hook: Hook) -> None:
    backfill = {"kind": "checkpoint", "predictor": "last-two", "shrink_threshold_s": 60}
    settings = {"backfill": backfill, "checkpoint": {"saves": True}}
    queues = {"workq": queue("advise")}
    ended = {f"{number}.s": running(stime=str(int(time.time()) - 1000 * number)) for number in (1, 2)}
    for jobs in (ended, {"3.s": job()}):
        hook.run("periodic", cluster=server_status(jobs, queues=queues).to_data(), settings=settings)
    answer = hook.run("queuejob", events=[submit(select="1:ncpus=1", walltime="10:00:00")], settings=settings)
    hours, minutes, seconds = (int(part) for part in answer["events"][0]["resources"]["soft_walltime"].split(":"))
    assert abs(hours * 3600 + minutes * 60 + seconds - 1500) < 60


def test_queuejob_does_nothing_before_the_first_pass_and_in_observe(hook: Hook) -> None:
    observing = {**SUMMARY_DATA, "queues": {"workq": {**SUMMARY_DATA["queues"]["workq"], "mode": "observe"}}}  # type: ignore[index]
    for summary in (None, observing):
        if summary:
            hook.state.publish(SUMMARY, summary, shared=False)
        answer = hook.run("queuejob", events=[submit(select="1:ncpus=99", walltime="10:00:00")], settings=HALF)
        assert answer["verdicts"] == [None]
        assert "soft_walltime" not in answer["events"][0]["resources"]


@pytest.mark.parametrize(("mode", "expected"), [("observe", "1023"), ("advise", "1022"), ("drive", "1023")])
def test_in_advise_a_users_priority_stays_below_that_of_beneficiaries(hook: Hook, mode: str, expected: str) -> None:
    """A pass gives the latter 1023, as root, and a manager may."""
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    one = {"select": "1:ncpus=1"}
    for event, given in (("queuejob", submit(**one)), ("modifyjob", alter(one, {}))):
        events = [{**given, "Priority": priority} for priority in (1023, "01023", "+1023", 7, "-1023", "²")]
        by_manager = {**given, "Priority": 1023, "requestor": "olga"}
        answer = hook.run(event, events=[*events, by_manager])
        assert (answer["verdicts"], answer["logged"]) == ([None] * 7, [])
        written = ["1022"] * 3 if expected == "1022" else ["1023", "01023", "+1023"]
        assert [each["priority"] for each in answer["events"]] == [*written, "7", "-1023", "²", "1023"], event


@pytest.mark.parametrize(("mode", "expected"), [("observe", "1023"), ("advise", "1022"), ("drive", "1023")])
def test_a_users_priority_stays_below_beneficiaries_also_in_a_queue_that_routes_to_advise(
    hook: Hook, mode: str, expected: str
) -> None:
    hook.state.publish(SUMMARY, summary_of(mode), shared=False)
    one = {"select": "1:ncpus=1"}
    altered = alter(one, {})
    altered["job_o"]["queue"] = "routes"
    for event, given in (("queuejob", {**submit(**one), "queue": "routes"}), ("modifyjob", altered)):
        answer = hook.run(event, events=[{**given, "Priority": 1023}])
        assert [each["priority"] for each in answer["events"]] == [expected], event


def vnode_of(**available: Any) -> dict[str, Any]:
    return {"resources_available": available, "resources_assigned": {}}


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ({"v3": vnode_of(ncpus=12, host="v3")}, "1:ncpus=12"),
        ({"v3": vnode_of(ncpus=12, host="v3")}, "1:ncpus=1:vnode=v3"),
        ({"v2": vnode_of(ncpus=32, host="v2")}, "40:ncpus=1"),
        # A vnode whose host has not reported yet may be of any size.
        ({"v3": vnode_of(host="v3")}, "1:ncpus=100"),
    ],
)
def test_what_vnodes_can_hold_that_came_since_the_last_pass_is_not_refused(
    hook: Hook, more: dict[str, Any], asked: str
) -> None:
    hook.state.publish(SUMMARY, summary_of("drive"), shared=False)
    alteration = alter({"select": "1"}, {"select": asked})
    for event, given in (("queuejob", submit(select=asked)), ("modifyjob", alteration)):
        assert hook.run(event, events=[given], vnodes={**VNODES, **more})["verdicts"] == [None]
        (verdict,) = hook.run(event, events=[given])["verdicts"]
        assert str(verdict).startswith("pbsteer: this job can never run in queue workq")


def test_vnodes_of_other_queues_and_partitions_do_not_count(hook: Hook) -> None:
    hook.state.publish(SUMMARY, summary_of("drive"), shared=False)
    large = vnode_of(ncpus=64, host="v3")
    for away in ({"queue": "other"}, {"partition": "part"}):
        (verdict,) = hook.run(
            "queuejob", events=[submit(select="1:ncpus=9")], vnodes={**VNODES, "v3": {**large, **away}}
        )["verdicts"]
        assert "the largest host open to that queue has ncpus=8" in str(verdict)
    bound = {**VNODES, "v3": {**large, "queue": "workq"}}
    assert hook.run("queuejob", events=[submit(select="1:ncpus=9")], vnodes=bound)["verdicts"] == [None]
    # The queue has vnodes of its own now, and these alone.
    (verdict,) = hook.run("queuejob", events=[submit(select="65:ncpus=1")], vnodes=bound)["verdicts"]
    assert "all vnodes open to that queue have ncpus=64 together" in str(verdict)


def test_a_server_without_vnodes_refuses_nothing(hook: Hook) -> None:
    hook.state.publish(SUMMARY, summary_of("drive"), shared=False)
    assert hook.run("queuejob", events=[submit(select="1:ncpus=9")], vnodes={})["verdicts"] == [None]


def test_looking_at_the_vnodes_holds_the_server_up_for_a_part_of_the_time_at_most(hook: Hook) -> None:
    """Right after a look at many vnodes there is no other, and nothing is refused."""
    hook.state.publish(SUMMARY, summary_of("drive"), shared=False)
    many = {f"v{number}": vnode_of(ncpus=8, host=f"v{number}") for number in range(6000)}
    verdicts = hook.run("queuejob", events=[submit(select="1:ncpus=9")] * 20, vnodes=many)["verdicts"]
    assert verdicts[1:].count(None) > 0
