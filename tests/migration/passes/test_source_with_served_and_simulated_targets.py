"""The source's passes against targets that answer by ``serve``, and whether other tests' targets answer alike."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from migration.passes.target import accept_or_refuse_offer as accepting
from migration.protocol.questions import ACCEPT, QUERY, STOP, WITHDRAW, About, Hand, Query
from migration.protocol.replies import Reply, State, States, Taken
from policy.migration.job_record_and_copy_updates import Record
from policy.migration.job_states_and_transitions import OFFERED
from tests.migration.passes.served_target import ServedTarget
from tests.migration.passes.simulated_centre import USER, Centre, Clock, Target
from tests.migration.passes.source.test_source_laws import STEPS, check, do, drive_target

_EVENTS = ("upload", "submit", "local", "start", "ended", "downloaded", "given-back")
_MESSAGES = st.one_of(
    st.tuples(st.sampled_from((ACCEPT, WITHDRAW, STOP)), st.integers(1, 2), st.integers(1, 3)),
    st.tuples(st.just(QUERY), st.just(0), st.just(0)),
    st.tuples(st.just("event"), st.sampled_from(_EVENTS), st.just(0)),
)


@contextmanager
def without_keys() -> Iterator[None]:
    with mock.patch.object(accepting, "_make_key", lambda _, record: f"ssh-ed25519 {record.gid}"):
        yield


def a_served_centre(home: Path, fallback_s: int = 3600) -> Centre:
    (home / "a").mkdir()
    centre = Centre(home / "a", fallback_s, max_in_flight_per_target=2)
    for name in centre.targets:
        centre.targets[name] = ServedTarget(name, centre.clock, home / name)
    return centre


def test_a_job_goes_out_and_comes_back() -> None:
    with tempfile.TemporaryDirectory() as folder, without_keys():
        centre = a_served_centre(Path(folder))
        centre.submit()
        centre.run_pass()
        assert (centre.record().state, centre.record().dst) == ("Waiting", "b")
        assert centre.record().dstdir == f"/land/guest/a{centre.record().dir}"
        for event in ("upload", "submit", "local", "start", "ended"):
            drive_target(centre, "b", event)
            centre.run_pass()
        assert (centre.record().state, centre.record().localid, centre.record().ran) == ("Downloading", "7", 1)
        drive_target(centre, "b", "downloaded")
        centre.run_pass()
        assert centre.record().state == "End"
        assert centre.runs("a.1") == 1


@settings(max_examples=40, deadline=None)
@given(STEPS, st.sampled_from((0, 3600)))
def test_the_laws_hold_with_the_true_protocol(steps: list[tuple[str, Any, Any]], fallback_s: int) -> None:
    with tempfile.TemporaryDirectory() as folder, without_keys():
        centre = a_served_centre(Path(folder), fallback_s)
        acknowledged: set[str] = set()
        for step in [*steps, ("world", "speak", None), ("world", "late", None), ("pass", None, []), ("pass", None, [])]:
            do(centre, step)
            check(centre, acknowledged)
        assert not any(record.state == OFFERED for _, record in centre.where().values())


@settings(max_examples=100, deadline=None)
@given(st.lists(_MESSAGES, max_size=12))
def test_the_targets_of_the_other_tests_answer_as_serve_does(messages: list[tuple[str, Any, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder, without_keys():
        (Path(folder) / "a").mkdir()
        true, fake = Centre(Path(folder) / "a"), Centre(Path(folder) / "a")
        clock = Clock()
        true.targets = {"b": ServedTarget("b", clock, Path(folder) / "b")}
        fake.targets = {"b": Target("b", clock)}
        for message in messages:
            assert tell(true, message) == tell(fake, message), message


def tell(centre: Centre, message: tuple[str, Any, int]) -> object:
    """What the target makes of a message, as far as a source goes by it."""
    verb, one, attempt = message
    if verb == "event":
        drive_target(centre, "b", one)
        return None
    gid = f"a.{one}"
    if verb == QUERY:
        body = Query(("a.1", "a.2")).to_data()
    elif verb == ACCEPT:
        offer = Record(
            gid=gid, user=USER, src="a", dst="b", dir="/home/u/d", prog="p", cores=2, walltime=60, state=OFFERED,
            attempt=attempt,
        )  # fmt: skip
        body = Hand(offer).to_data(centre.clock())
    else:
        body = About(gid, attempt, discard=False).to_data()
    return seen(verb, centre.targets["b"].reply(verb, body))


def seen(verb: str, reply: Reply) -> object:
    if isinstance(reply, States):
        return sorted((one.gid, one.attempt, one.state) for one in reply.records), sorted(reply.unknown)
    if isinstance(reply, (State, Taken)) and verb != STOP:
        return type(reply).__name__, reply.record.gid, reply.record.attempt, reply.record.state
    return type(reply).__name__
