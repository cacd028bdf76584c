"""The hand-over: a job is offered to one cluster at a time, and what became of an offer is found out."""

from __future__ import annotations

from migration.protocol.replies import Failed, Taken
from tests.migration.passes.simulated_centre import DELAYED, GOOD, LOST, UNANSWERED, Centre


def test_an_offer_without_an_answer_is_made_to_nobody_else_until_it_is_settled(centre: Centre) -> None:
    centre.network = [GOOD, LOST]
    centre.submit()
    centre.run_pass()
    assert (centre.record().state, centre.record().dst) == ("Offered", "b")
    centre.cut.add("b")
    centre.run_pass()
    assert centre.record().state == "Offered"
    assert "hand-over to b unconfirmed" in centre.record().reason
    assert centre.targets["c"].records == {}
    centre.cut.clear()
    centre.run_pass()
    assert (centre.record().state, centre.record().dst, centre.record().attempt) == ("Waiting", "c", 2)
    assert centre.targets["b"].withdrawn == {"a.1": 1}


def test_an_offer_that_was_accepted_unheard_is_found_out(centre: Centre) -> None:
    centre.network = [GOOD, UNANSWERED]
    centre.submit()
    centre.run_pass()
    assert centre.record().state == "Offered"
    centre.run_pass()
    assert (centre.record().state, centre.record().dst, centre.record().attempt) == ("Waiting", "b", 1)


def test_an_offer_that_arrives_after_it_was_withdrawn_is_refused(centre: Centre) -> None:
    centre.network = [GOOD, DELAYED]
    centre.submit()
    centre.run_pass()
    centre.run_pass()
    assert centre.record().dst == "c"
    centre.deliver_late()
    assert centre.targets["b"].records == {}


def test_a_busy_target_is_followed_by_the_next(centre: Centre) -> None:
    centre.targets["b"].busy = True
    centre.submit()
    centre.run_pass()
    assert (centre.record().dst, centre.record().attempt) == ("c", 1)


def test_a_request_that_every_cluster_refuses_for_good_is_aborted_with_each_answer(centre: Centre) -> None:
    for target in centre.targets.values():
        target.refuses = True
    centre.submit(want="b")
    centre.run_pass()
    assert (centre.record().state, centre.record().reason) == ("Aborted", "b: no account")
    centre.submit()
    centre.run_pass()
    assert centre.record("a.2").state == "Requested"
    assert centre.record("a.2").avoid == ("b", "c")


def test_a_job_that_comes_back_is_offered_elsewhere_first(centre: Centre) -> None:
    centre.submit()
    centre.run_pass()
    assert centre.record().dst == "b"
    centre.targets["b"].advance("a.1", "given-back", reason="waited too long")
    centre.run_pass()
    assert (centre.record().dst, centre.record().attempt, centre.record().last) == ("c", 2, "b")


def test_no_space_leaves_the_cluster_out_for_this_user_for_an_hour(centre: Centre) -> None:
    centre.submit(want="b")
    centre.run_pass()
    centre.targets["b"].advance("a.1", "upload")
    centre.targets["b"].advance("a.1", "given-back", reason="no space: 3 GiB of 4")
    centre.run_pass()
    assert (centre.record().state, centre.record().reason) == ("Requested", "b: has no space for this user")
    centre.clock.now += 3601
    centre.run_pass()
    assert (centre.record().state, centre.record().attempt) == ("Waiting", 2)


def test_a_job_whose_offers_fail_keeps_a_few_others_from_a_cluster_at_most(centre: Centre) -> None:
    centre.targets["b"].cores = 100
    centre.garble = lambda reply: Failed("no room for a key") if isinstance(reply, Taken) else reply
    for _ in range(6):
        centre.submit(cores=1, want="b")
    centre.run_pass()
    assert centre.calls.count(("b", "accept")) == 3
    assert sorted(one.state for _, one in centre.where().values()) == ["Offered"] * 3 + ["Requested"] * 3
    centre.garble = None
    centre.run_pass()
    assert {one.state for _, one in centre.where().values()} == {"Waiting"}
