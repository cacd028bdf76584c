"""A message is read as it was sent, and garbage is refused with a message that names the field."""

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migration.protocol.message_lines_and_fields import (
    MOST_BYTES,
    MessageError,
    RecordError,
    from_line_bytes,
    to_line_bytes,
)
from migration.protocol.questions import VERBS, About, Hand, Query, read_several, read_verb, several_to_data
from migration.protocol.replies import (
    Busy,
    Failed,
    Refused,
    Reply,
    State,
    States,
    Taken,
    Unknown,
    is_unknown_verb,
    reply_from_data,
    reply_to_data,
    states_that_fit,
)
from policy.migration.available_to_other_clusters import FreeNodes, Shape, make_answer
from policy.migration.job_record_and_copy_updates import Record
from tests.migration.spool.record_strategies import RECORDS

ANSWER = make_answer("b", FreeNodes("slurm", 64, (Shape(2, 8, 100, 0),)), [], 8, time=99)
RECORD = Record(
    gid="a.1", user="alice", src="a", dst="b", dir="/home/alice/\udcff\n", state="Offered", created=900, since=990
)


def there_and_back(data: Any) -> object:
    return from_line_bytes(to_line_bytes(data))


@pytest.mark.parametrize(
    "reply",
    [
        ANSWER, Taken(RECORD, "ssh-ed25519 AAAA"), Busy("8 cores idle", ANSWER), Busy("would start in 600 s"),
        Refused("no-account", "no account for alice"), Refused("busy", "a limit", lasting=False), Unknown("a.1", 2),
        State(RECORD), States((RECORD, replace(RECORD, gid="a.2")), ("a.3",)), Failed("qstat is silent"),
    ],
)  # fmt: skip
def test_a_reply_is_read_as_it_was_sent(reply: Reply) -> None:
    assert reply_from_data(there_and_back(reply_to_data(reply, 1000)), 1000) == reply


@given(RECORDS, st.integers(0, 10**10))
def test_what_is_asked_is_read_as_it_was_sent(record: Record, now_s: int) -> None:
    record = replace(record, created=now_s // 2, since=now_s // 3, offered=0)
    assert Hand.from_data(there_and_back(Hand(record).to_data(now_s)), now_s) == Hand(record)
    assert About.from_data(there_and_back(About("a.1", 2, discard=True).to_data())) == About("a.1", 2, discard=True)
    assert Query.from_data(there_and_back(Query(("a.1", "a.2")).to_data())) == Query(("a.1", "a.2"))


def test_clocks_are_not_compared() -> None:
    there = Hand.from_data(Hand(RECORD).to_data(1000), 5_000_000)
    assert (there.record.created, there.record.since) == (4_999_900, 4_999_990)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_the_whole_command(verb: str) -> None:
    assert read_verb(f"mg {verb}") == verb
    for wrong in (
        verb,
        f"mg {verb} ",
        f"mg  {verb}",
        f"mg {verb}; id",
        f"mg {verb}\n",
        f"MG {verb}",
        "",
        "mg ",
        "mg -h",
    ):
        with pytest.raises(MessageError, match="must be mg and one of avail, accept"):
            read_verb(wrong)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([], "must be an object"),
        ({}, "v: None: must be 1"),
        ({"v": 1}, "reply: None"),
        ({"v": 1, "reply": "gone"}, "reply: 'gone'"),
        ({"v": 1, "reply": "avail", "cluster": 3}, "answer: cluster is 3"),
        ({"v": 1, "reply": "accepted", "record": 5}, "record: 5: must be a line"),
        ({"v": 1, "reply": "accepted", "record": "v=1\tgid=a.1\tstate=Gone", "ages": {}}, "record: state 'Gone'"),
        ({"v": 1, "reply": "state", "record": "v=1\tgid=a.1", "ages": {"since": -1}}, "since: -1"),
        ({"v": 1, "reply": "state", "record": "v=1\tgid=a.1"}, "ages: None"),
        ({"v": 1, "reply": "refused", "code": "x", "text": "y", "lasting": 1}, "lasting: 1"),
        ({"v": 1, "reply": "refused", "code": "x", "text": "y\x1b[2J", "lasting": True}, "printable text"),
        ({"v": 1, "reply": "refused", "code": "x", "text": "y" * 1001, "lasting": True}, "at most 1000 characters"),
        ({"v": 1, "reply": "unknown", "gid": "../a", "attempt": 1}, "job id '../a'"),
        ({"v": 1, "reply": "unknown", "gid": "a.1", "attempt": True}, "attempt: True"),
        ({"v": 1, "reply": "states", "records": [], "unknown": ["a.1"] * 1001}, "at most 1000 job ids"),
        ({"v": 1, "reply": "states", "records": None, "unknown": []}, "records: must be a list"),
    ],
)
def test_a_reply_that_is_none_is_refused_by_field(data: object, problem: str) -> None:
    with pytest.raises(MessageError) as raised:
        reply_from_data(data, 0)
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"avoid": ("b",) * 1001}, "avoid: must be at most 1,000 names of clusters"),
        ({"avoid": ("b", "../c")}, "avoid: must be at most 1,000 names of clusters"),
        ({"more": {f"k_{letter}": "" for letter in "abcdefghijklmnopq"}}, "17 keys that are none of this version's"),
        ({"more": {"newer": "x" * 1001}}, "each with 1,000"),
        ({"then": "Gone"}, "then: 'Gone': must be one of Aborted, End, Stopped"),
        ({"localid": "7" * 201}, "localid: 201 characters: at most 200"),
        ({"exit": "7" * 201}, "exit: 201 characters: at most 200"),
        ({"rev": 10**9 + 1}, "rev 1000000001"),
    ],
)
def test_what_a_cluster_writes_into_a_record_is_bounded(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(RecordError) as raised:
        reply_from_data(reply_to_data(State(replace(RECORD, **changes)), 1000), 1000)
    assert problem in str(raised.value)


def test_a_record_that_cannot_be_read_takes_no_other_along() -> None:
    data = reply_to_data(States((RECORD, replace(RECORD, gid="a.2"), replace(RECORD, gid="a.3")), ("a.4",)), 1000)
    data["records"][1]["record"] += "\tstate=\x1b[2J"
    data["records"] += [{}, "x", {"v": 1, "record": "v=1\tgid=../x\tcores=y", "ages": {}}]
    states = reply_from_data(there_and_back(data), 1000)
    assert isinstance(states, States)
    assert [record.gid for record in states.records] == ["a.1", "a.3"]
    assert states.unknown == ("a.4",)
    assert [one.gid for one in states.unreadable] == ["a.2", "", "", ""]
    assert "printable ASCII" in states.unreadable[0].why
    assert all(one.why.isprintable() and len(one.why) <= 300 for one in states.unreadable)


KEYS = st.sampled_from(("v", "reply", "gid", "gids", "attempt", "record", "ages", "records", "text"))
DATA = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)
)


@given(DATA)
def test_nothing_but_a_message_error_comes_of_garbage(data: object) -> None:
    for read in (
        lambda: reply_from_data(data, 0), lambda: Hand.from_data(data, 0), lambda: About.from_data(data),
        lambda: Query.from_data(data),
    ):  # fmt: skip
        with suppress(MessageError):
            read()


@given(st.binary(max_size=60))
def test_a_line_that_is_no_message_is_refused(line: bytes) -> None:
    try:
        from_line_bytes(line)
    except MessageError:
        return
    json.loads(line)
    assert line.endswith(b"\n")


def test_messages_are_bounded() -> None:
    with pytest.raises(MessageError, match="at most 1,048,576 are allowed"):
        to_line_bytes({"v": 1, "text": "x" * MOST_BYTES})
    with pytest.raises(MessageError, match="more than 1,048,576 bytes"):
        from_line_bytes(b"x" * (MOST_BYTES + 1))
    with pytest.raises(MessageError, match="cut off"):
        from_line_bytes(b'{"v":1}')
    with pytest.raises(MessageError, match="no JSON"):
        from_line_bytes(b"[" * 100_000 + b"\n")


def test_a_reply_with_many_long_records_has_those_that_fit() -> None:
    long = [replace(RECORD, gid=f"a.{number}", args=("x" * 100_000,)) for number in range(1, 20)]
    states = states_that_fit(long, ["a.99"], 1000)
    assert [record.gid for record in states.records] == ["a.1", "a.2", "a.3", "a.4", "a.5"]
    assert states.unknown == ("a.99",)
    assert len(to_line_bytes(reply_to_data(states, 1000))) <= MOST_BYTES


def test_a_record_that_was_taken_comes_back_also_when_it_has_grown() -> None:
    long = Record(gid="a.1", user="alice", src="a", dst="b", prog="p", args=(130_000 * "x",))
    assert Hand.from_data(Hand(long).to_data(0), 0).record == long
    grown = replace(long, dstdir="/land/" + 2_000 * "y")
    with pytest.raises(MessageError, match=r"record: .* characters: at most"):
        Hand.from_data(Hand(grown).to_data(0), 0)
    assert reply_from_data(reply_to_data(State(grown), 0), 0) == State(grown)


def test_of_several_questions_each_has_a_verb_and_a_body() -> None:
    body = About("a.1", 2).to_data()
    assert read_several(to_line_bytes(several_to_data("stop", body))) == ("stop", to_line_bytes(body))
    assert read_several(to_line_bytes(several_to_data("avail", None))) == ("avail", b"")
    for wrong in ('{"v":1,"ask":"several"}', '{"v":1,"ask":["stop"]}', '{"v":1,"ask":"stop","body":"x"}', "{}", "[]"):
        with pytest.raises(MessageError):
            read_several(f"{wrong}\n".encode())


def test_a_verb_that_another_version_does_not_know_is_told_from_what_else_fails() -> None:
    with pytest.raises(MessageError) as raised:
        read_verb("mg new")
    assert is_unknown_verb(Failed(str(raised.value)[:300]), "new")
    assert not is_unknown_verb(Failed("pbsnodes: timed out"), "new")
