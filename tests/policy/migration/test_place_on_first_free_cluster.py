"""Where a pass places requests: here, else at the first cluster that can start them, within the bounds of a pass."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from policy.migration.available_to_other_clusters import Answer, FreeNodes, Shape, make_answer
from policy.migration.job_demand import Demand
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.place_on_first_free_cluster import (
    Accepted,
    Ask,
    Declined,
    FallBack,
    NoAnswer,
    Offer,
    Outcome,
    PassState,
    Placements,
    Placing,
    PlacingSettings,
    Request,
    StartHere,
    Step,
    Stop,
    Unconfirmed,
    place,
    placing,
)

SETTINGS = PlacingSettings("a", ("b", "c"))


def free(cores: int, cluster: str = "b", slots: int = 8) -> Answer:
    return make_answer(cluster, FreeNodes("pbs", 99, (Shape(1, cores, 0, 0),)), [], slots)


def request(gid: str, cores: int, **more: Any) -> Request:
    return Request(gid, "alice", Demand(cores, walltime_s=60), **more)


def drive(steps: Placing, outcomes: dict[Step, Outcome]) -> tuple[list[Step], Placements]:
    """The steps asked for, each answered by the next outcome that its kind and cluster find."""
    seen: list[Step] = []
    outcome: Outcome = None
    try:
        while True:
            step = steps.send(outcome)
            seen.append(step)
            outcome = outcomes.get(step, Accepted())
    except StopIteration as end:
        return seen, end.value


def test_a_request_that_fits_here_runs_here_and_no_other_is_asked() -> None:
    seen, found = drive(placing([request("a.1", 8)], SETTINGS), {Ask("a"): free(8)})
    assert seen == [Ask("a"), StartHere("a.1")]
    assert found.placed == {"a.1": "a"}


def test_the_first_cluster_that_can_gets_it_and_the_next_is_not_asked() -> None:
    seen, found = drive(
        placing([request("a.1", 8)], SETTINGS), {Ask("a"): free(7), Ask("b"): free(8), Ask("c"): free(99)}
    )
    assert seen == [Ask("a"), Ask("b"), Offer("a.1", "b")]
    assert found.placed == {"a.1": "b"}
    assert found.hand_overs == 1


def test_a_cluster_is_asked_once_a_pass_and_its_answer_shrinks() -> None:
    seen, found = drive(
        placing([request(f"a.{number}", 8) for number in (1, 2, 3)], SETTINGS),
        {Ask("a"): free(8), Ask("b"): free(8), Ask("c"): free(4)},
    )
    assert [step for step in seen if isinstance(step, Ask)] == [Ask("a"), Ask("b"), Ask("c")]
    assert found.placed == {"a.1": "a", "a.2": "b"}
    assert found.stays["a.3"].sentence() == (
        "a: short by 8 cores (0 of 8); b: short by 8 cores (0 of 8); c: short by 4 cores (4 of 8)"
    )


def test_a_smaller_request_behind_a_wide_one_may_go() -> None:
    found = place([request("a.1", 90), request("a.2", 4)], {"a": free(0), "b": free(8)}, SETTINGS)
    assert found.placed == {"a.2": "b"}
    assert found.stays["a.1"].sentence().endswith("c: unreachable")


def test_where_nothing_is_to_be_placed_nothing_is_asked() -> None:
    assert drive(placing([], SETTINGS), {}) == ([], place([], {}, SETTINGS))


def test_a_local_request_stays_when_this_cluster_is_full() -> None:
    seen, found = drive(placing([request("a.1", 8, want="local")], SETTINGS), {Ask("a"): free(7)})
    assert seen == [Ask("a")]
    assert found.stays["a.1"].sentence() == "a: short by 1 cores (7 of 8)"


def test_a_named_target_alone_is_asked() -> None:
    seen, found = drive(placing([request("a.1", 8, want="c")], SETTINGS), {Ask("c"): free(7)})
    assert seen == [Ask("c")]
    assert found.stays["a.1"].sentence() == "c: short by 1 cores (7 of 8)"


def test_an_unknown_target_is_reported() -> None:
    found = place([request("a.1", 8, want="z")], {}, SETTINGS)
    assert found.stays["a.1"].sentence() == "z: no such cluster in the cluster file"


def test_a_busy_target_is_passed_over_and_what_it_says_is_used() -> None:
    steps = placing([request("a.1", 8), request("a.2", 8), request("a.3", 2)], SETTINGS)
    seen, found = drive(
        steps,
        {
            Ask("a"): free(0), Ask("b"): free(16), Ask("c"): free(8),
            Offer("a.1", "b"): Declined("busy: 3 cores idle", free(3)),
        },
    )  # fmt: skip
    assert seen == [
        Ask("a"), Ask("b"), Offer("a.1", "b"), Ask("c"), Offer("a.1", "c"), Offer("a.3", "b"),
    ]  # fmt: skip
    assert found.placed == {"a.1": "c", "a.3": "b"}
    assert found.stays["a.2"].sentence().startswith("a: short by 8 cores (0 of 8); b: busy: 3 cores idle; c: short")


def test_a_limit_of_one_user_at_a_target_says_nothing_of_equal_requests_of_others() -> None:
    requests = [request(f"a.{number}", 4, want="b") for number in (1, 2)]
    requests += [requests[0]._replace(gid=f"a.{number}", user="bob") for number in (3, 4)]
    over = Declined("alice is over her limit of running jobs", for_now=True)
    seen, found = drive(placing(requests, SETTINGS), {Ask("b"): free(16), Offer("a.1", "b"): over})
    assert seen == [Ask("b"), Offer("a.1", "b"), Offer("a.3", "b"), Offer("a.4", "b")]
    assert found.placed == {"a.3": "b", "a.4": "b"}
    assert found.stays["a.2"].sentence() == "b: alice is over her limit of running jobs"


def test_a_refusal_about_one_job_says_nothing_of_the_next() -> None:
    outcomes: dict[Step, Outcome] = {
        Ask("a"): free(0),
        Ask("b"): free(16),
        Offer("a.1", "b"): Declined("no account", others=False),
    }
    seen, found = drive(placing([request("a.1", 8), request("a.2", 8)], SETTINGS), outcomes)
    assert Offer("a.2", "b") in seen
    assert found.stays["a.1"].lacks[1] == ("b", "no account")


def test_a_request_that_stays_for_a_cluster_that_is_busy_for_now_may_go_out_in_a_moment() -> None:
    busy = Declined("would start in 300 s", for_now=True)
    answers: dict[Step, Outcome] = {Ask("a"): free(0), Ask("b"): free(8), Ask("c"): free(0)}
    for said, expected in ((busy, True), (Declined("no account"), False)):
        _, found = drive(placing([request("a.1", 1)], SETTINGS), {**answers, Offer("a.1", "b"): said})
        assert found.busy_for_now == expected
    _, found = drive(
        placing([request("a.1", 1), request("a.2", 9)], SETTINGS),
        {**answers, Ask("c"): free(8), Offer("a.1", "b"): busy},
    )
    assert found.placed == {"a.1": "c"}
    assert not found.busy_for_now, "b would be too small for a.2 in a moment too"


def test_an_unconfirmed_hand_over_goes_to_nobody_else_and_its_cores_count() -> None:
    outcomes: dict[Step, Outcome] = {
        Ask("a"): free(0),
        Ask("b"): free(8),
        Ask("c"): free(8),
        Offer("a.1", "b"): Unconfirmed(),
    }
    seen, found = drive(placing([request("a.1", 8), request("a.2", 8)], SETTINGS), outcomes)
    assert found.unconfirmed == {"a.1": "b"}
    assert found.placed == {"a.2": "c"}
    assert found.hand_overs == 2
    assert Offer("a.1", "c") not in seen


def test_hand_overs_are_bounded_a_pass_and_local_starts_are_not() -> None:
    settings = replace(SETTINGS, max_per_pass=2)
    requests = [request(f"a.{number}", 8) for number in range(1, 5)] + [request("a.5", 2)]
    found = place(requests, {"a": free(2), "b": free(99), "c": free(99)}, settings)
    assert found.placed == {"a.1": "b", "a.2": "b", "a.5": "a"}
    assert (
        found.stays["a.3"].sentence()
        == "a: short by 6 cores (2 of 8); not looked at further: 2 hand-overs in this pass"
    )


def test_jobs_on_their_way_to_a_target_are_bounded() -> None:
    settings = replace(SETTINGS, max_in_flight_per_target=2)
    requests = [request("a.1", 8), request("a.2", 8)]
    found = place(requests, {"a": free(0), "b": free(99), "c": free(99)}, settings, PassState({"b": 1}))
    assert found.placed == {"a.1": "b", "a.2": "c"}


def test_one_user_takes_three_quarters_of_the_places_on_the_way_also_with_jobs_that_rest_there() -> None:
    requests = [*(request(f"a.{number}", 1, want="b") for number in range(1, 9))]
    requests += [requests[-1]._replace(gid=f"a.{number}", user="bob") for number in range(9, 12)]
    settings = replace(SETTINGS, max_in_flight_per_target=8)
    found = place(requests, {"b": free(99)}, settings, PassState({"b": 0}, {("b", "alice"): 2}))
    assert [*found.placed] == ["a.1", "a.2", "a.3", "a.4", "a.9", "a.10", "a.11"]
    assert found.stays["a.5"].sentence() == "b: 6 jobs of alice are on their way there already"
    assert found.busy_for_now


def test_a_job_that_was_given_back_tries_that_cluster_last() -> None:
    found = place([request("a.1", 8, last="b")], {"a": free(0), "b": free(8), "c": free(8)}, SETTINGS)
    assert found.placed == {"a.1": "c"}


def test_excluded_full_and_silent_clusters_are_reported_and_not_asked() -> None:
    state = PassState(silent={"c": "unreachable since 10:00"}, full={("b", "alice"): "no space for alice until 11:00"})
    seen, found = drive(
        placing([request("a.1", 8), request("a.2", 8, avoid=("b",))], SETTINGS, state), {Ask("a"): free(0)}
    )
    assert seen == [Ask("a")]
    assert found.stays["a.1"].lacks[1:] == (("b", "no space for alice until 11:00"), ("c", "unreachable since 10:00"))
    assert found.stays["a.2"].lacks[1] == ("b", "refused this job before")


def test_an_old_request_is_also_submitted_here_and_then_no_longer_started_from_the_queue_file() -> None:
    seen, found = drive(placing([request("a.1", 8, age_s=3600)], SETTINGS), {Ask("a"): free(0)})
    assert seen[-1] == FallBack("a.1")
    assert found.fallbacks == ["a.1"]
    seen, found = drive(placing([request("a.1", 8, age_s=9999, fallback="12.a")], SETTINGS), {Ask("b"): free(8)})
    assert seen == [Ask("b"), Offer("a.1", "b")]
    found = place([request("a.1", 8, age_s=9999, fallback="12.a")], {"a": free(99)}, SETTINGS)
    assert found.stays["a.1"].lacks[0] == ("a", "also local 12.a")


def test_a_pass_submits_no_more_to_the_local_queue_than_it_hands_over() -> None:
    settings = replace(SETTINGS, max_per_pass=2)
    requests = [request(f"a.{number}", 8, age_s=9999) for number in range(1, 5)]
    found = place(requests, {"a": free(0), "b": free(0), "c": free(0)}, settings)
    assert found.fallbacks == ["a.1", "a.2"]
    assert len(found.stays) == 4


def test_a_user_whom_the_local_queue_refuses_for_now_is_tried_once_and_keeps_nobody_out() -> None:
    """Such as at ``max_queued`` of each user; it is the same queue for starts and for requests that have aged."""
    full = Declined("would exceed queue's per-user limit", others=False, of_user=True)
    requests = [request(f"a.{number}", 1, age_s=9999) for number in range(1, 26)]
    requests += [requests[0]._replace(gid=f"a.{number}", user="bob") for number in range(26, 28)]
    for idle, tried in ((0, FallBack("a.1")), (99, StartHere("a.1"))):
        seen, found = drive(placing(requests, SETTINGS), {Ask("a"): free(idle), tried: full})
        mine = [step for step in seen if not isinstance(step, Ask)]
        assert mine == [tried, *(type(tried)(gid) for gid in ("a.26", "a.27"))]
        assert found.stays["a.25"].sentence().startswith("a: would exceed" if idle else "a: short by 1 cores")


def test_a_request_that_is_always_over_a_limit_here_stops_no_smaller_one_of_its_user() -> None:
    requests = [request("a.1", 128, age_s=9999), request("a.2", 128, age_s=9999), request("a.3", 1, age_s=9999)]
    refused = Declined("QOS policy", others=False, of_user=True)
    for idle, tried in ((0, FallBack("a.1")), (256, StartHere("a.1"))):
        seen, found = drive(placing(requests, SETTINGS), {Ask("a"): free(idle), tried: refused})
        assert [step for step in seen if isinstance(step, type(tried))] == [tried, type(tried)("a.3")]
        assert (found.fallbacks or list(found.placed)) == ["a.3"]
    assert found.stays["a.2"].lacks[0] == ("a", "QOS policy")


def test_a_user_is_refused_here_eight_times_a_pass_at_the_most() -> None:
    requests = [request(f"a.{number}", 40 - number, want="local") for number in range(1, 21)]
    refused = Declined("QOS policy", others=False, of_user=True)
    answers: dict[Step, Outcome] = {StartHere(one.gid): refused for one in requests}
    seen, _ = drive(placing(requests, SETTINGS), {Ask("a"): free(99), **answers})
    assert seen == [Ask("a"), *(StartHere(f"a.{number}") for number in range(1, 9))]


def test_a_request_that_the_local_queue_refuses_for_good_says_nothing_of_its_users_others() -> None:
    requests = [request(f"a.{number}", 1, age_s=9999) for number in (1, 2)]
    refused = Declined("walltime", others=False)
    _, found = drive(placing(requests, SETTINGS), {Ask("a"): free(0), FallBack("a.1"): refused})
    assert found.fallbacks == ["a.2"]
    _, found = drive(placing(requests, SETTINGS), {Ask("a"): free(9), StartHere("a.1"): refused})
    assert found.placed == {"a.2": "a"}


def test_old_requests_of_users_are_submitted_here_in_turn() -> None:
    requests = [request(f"a.{number}", 1, age_s=9999) for number in range(1, 30)]
    requests += [requests[0]._replace(gid="a.30", user="bob")]
    found = place(requests, {"a": free(0)}, SETTINGS)
    assert (found.fallbacks[:3], len(found.fallbacks)) == (["a.1", "a.30", "a.2"], 20)


def test_a_pass_starts_so_many_requests_of_one_user_here() -> None:
    requests = [request(f"a.{number}", 1, want="local") for number in range(1, 66)]
    requests += [requests[0]._replace(gid="a.66", user="bob")]
    found = place(requests, {"a": free(99)}, SETTINGS)
    assert len(found.placed) == 65
    assert found.stays["a.65"].sentence() == "a: 64 jobs of alice were started here in this pass"


def test_a_request_for_a_named_target_has_no_fallback() -> None:
    assert not place([request("a.1", 8, want="b", age_s=9999)], {"a": free(8)}, SETTINGS).fallbacks


def test_a_stopped_request_goes_nowhere() -> None:
    seen, found = drive(placing([request("a.1", 8, stop=True)], SETTINGS), {})
    assert seen == [Stop("a.1")]
    assert found.stopped == ["a.1"]


def test_uploads_bound_hand_overs_and_not_a_start_here() -> None:
    found = place([request("a.1", 2), request("a.2", 9)], {"a": free(4, slots=0), "b": free(9, slots=0)}, SETTINGS)
    assert found.placed == {"a.1": "a"}
    assert found.stays["a.2"].lacks[1] == ("b", "busy with uploads")


def test_a_request_of_a_record() -> None:
    record = Record(gid="a.1", user="alice", cores=4, walltime=60, created=100, stop="keep", last="b", fallback="9")
    assert Request.of(record, 160.0) == Request(
        "a.1", "alice", Demand(4, walltime_s=60), "any", 60.0, True, (), "b", "9"
    )
    assert Request.of(record, 50.0).age_s == 0


REQUESTS = st.lists(
    st.builds(
        lambda cores, nodes, *more: (cores * max(1, nodes), nodes, *more),
        st.integers(1, 9), st.integers(0, 3), st.sampled_from((50, 500)),
        st.sampled_from(("any", "local", "a", "b", "z")),
        st.booleans(), st.sampled_from(((), ("b",))), st.sampled_from((0, 9999)),
    ),
    max_size=12,
)  # fmt: skip
ANSWERS = st.fixed_dictionaries(
    {},
    optional={
        name: st.builds(
            lambda shapes, earmarked, reserved, slots, name=name: make_answer(
                name, FreeNodes("pbs", 99, tuple(shapes), earmarked, reserved, 100), [], slots
            ),
            st.lists(st.builds(Shape, st.integers(0, 4), st.integers(0, 8), st.just(0), st.just(0)), max_size=3),
            st.integers(0, 5), st.integers(0, 5), st.integers(0, 4),
        )
        for name in "abc"
    },
)  # fmt: skip
OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(
    (Accepted(), Declined("busy"), Declined("no account", others=False), Unconfirmed())
)


@given(REQUESTS, ANSWERS, st.integers(0, 4), st.integers(0, 3), st.data())
def test_each_request_has_one_outcome_and_no_answer_is_over_committed(
    drawn: list[tuple[Any, ...]], answers: dict[str, Answer], per_pass: int, per_target: int, data: st.DataObject
) -> None:
    requests = [
        Request(f"a.{number}", "alice", Demand(cores, nodes, 0, 0, walltime), want, age, stop, avoid)
        for number, (cores, nodes, walltime, want, stop, avoid, age) in enumerate(drawn, 1)
    ]
    settings = PlacingSettings("a", ("b", "c"), per_pass, per_target)
    steps, asked = placing(requests, settings), list[str]()
    outcome: Outcome = None
    offers: list[tuple[Offer | StartHere, Outcome]] = []
    try:
        while True:
            step = steps.send(outcome)
            if isinstance(step, Ask):
                asked.append(step.cluster)
                outcome = answers[step.cluster] if step.cluster in answers else NoAnswer()
            elif isinstance(step, (Offer, StartHere)):
                outcome = data.draw(OUTCOMES)
                if isinstance(step, StartHere) and isinstance(outcome, Unconfirmed):
                    outcome = Accepted()
                offers.append((step, outcome))
            else:
                outcome = None
    except StopIteration as end:
        found = end.value
    parts = [found.placed, found.unconfirmed, dict.fromkeys(found.stopped), found.stays]
    assert sorted(gid for part in parts for gid in part) == sorted(one.gid for one in requests)
    assert len(asked) == len(set(asked))
    assert [one.gid for one in requests if one.gid in found.stays] == list(found.stays)
    assert all(stay.sentence() for stay in found.stays.values())
    assert set(found.fallbacks) <= set(found.stays)
    demands = {one.gid: one.demand for one in requests}
    for name in "abc":
        there = [gid for part in (found.placed, found.unconfirmed) for gid, cluster in part.items() if cluster == name]
        cores = sum(demands[gid].cores for gid in there)
        assert cores <= (answers[name].avail_before_head if name in answers else 0)
        assert sum(demands[gid].cores for gid in there if demands[gid].walltime_s > 100) <= (
            answers[name].avail if name in answers else 0
        )
        if name != "a":
            assert len(there) <= min(per_pass, per_target, answers[name].slots if name in answers else 0)
    confirmed = [step for step, said in offers if not isinstance(said, Declined)]
    assert len({step.gid for step in confirmed}) == len(confirmed), (
        "a job that a cluster may have is offered to no other"
    )
