"""PBS's entity syntax: read, asked, changed and shown."""

from __future__ import annotations

import pytest

from policy.model.limit_attributes import (
    ALL,
    Bound,
    LimitError,
    Limits,
    parse_entity,
    parse_limits,
    show_entity,
    show_limits,
)


def test_all_kinds_of_entities() -> None:
    limits = parse_limits('[u:alice=128], [g:chem=512],[p:x=1],[u:PBS_GENERIC=32],[o:PBS_ALL=9],["u:a b"=7]', "quota")
    assert limits.entries == {
        ("u", "alice"): 128,
        ("g", "chem"): 512,
        ("p", "x"): 1,
        ("u", "PBS_GENERIC"): 32,
        ALL: 9,
        ("u", "a b"): 7,
    }


def test_an_own_entry_beats_the_generic_one_and_wider_ones_bind_as_well() -> None:
    limits = parse_limits("[u:alice=4],[u:PBS_GENERIC=2],[g:PBS_GENERIC=8],[g:chem=6],[p:x=1],[o:PBS_ALL=9]", "quota")
    assert list(limits.bounds("alice", "chem", "x")) == [
        Bound(("u", "alice"), 4),
        Bound(("g", "chem"), 6),
        Bound(("p", "x"), 1),
        Bound(ALL, 9),
    ]
    assert list(limits.bounds("bob", "phys", "y")) == [Bound(("u", "bob"), 2), Bound(("g", "phys"), 8), Bound(ALL, 9)]


def test_no_limits_bind_nobody() -> None:
    assert not parse_limits("", "quota")
    assert list(Limits().bounds("alice", "chem", "x")) == []


def test_a_zero_is_a_limit() -> None:
    assert parse_limits("[u:alice=0]", "quota")
    assert list(parse_limits("[u:alice=0]", "quota").bounds("alice", "", "")) == [Bound(("u", "alice"), 0)]


def test_changing_an_entry_leaves_the_old_limits() -> None:
    limits = parse_limits("[u:alice=4]", "quota")
    assert limits.with_entry(("u", "bob"), 2) == parse_limits("[u:bob=2],[u:alice=4]", "quota")
    assert limits.without_entry(("u", "alice")) == Limits()
    assert limits == parse_limits("[u:alice=4]", "quota")


def test_shown_in_one_order_whatever_the_order_read() -> None:
    one, other = "[u:b=1],[g:a=2]", "[g:a=2],[u:b=1]"
    assert show_limits(parse_limits(one, "q")) == show_limits(parse_limits(other, "q")) == other
    assert hash(parse_limits(one, "q")) == hash(parse_limits(other, "q"))


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("u:alice=4", "'u:alice=4'"),
        ("[u:alice=4", "'[u:alice=4'"),
        ("[u:alice=4][u:bob=4]", "'[u:alice=4][u:bob=4]'"),
        ("[u:alice=-1]", "'-1'"),
        ("[u:alice=4.5]", "'4.5'"),
        ("[u:alice=]", "''"),
        ("[x:alice=4]", "'x:alice'"),
        ("[u:=4]", "'u:'"),
        ("[o:alice=4]", "'o:alice'"),
        ("[alice=4]", "'alice'"),
        ("[u:alice=4],[u:alice=5]", "u:alice is given twice"),
    ],
)
def test_what_cannot_be_read_is_quoted_with_the_attribute(text: str, quoted: str) -> None:
    with pytest.raises(LimitError, match=r"^queue workq: quota: ") as refused:
        parse_limits(text, "queue workq: quota")
    assert quoted in str(refused.value)


def test_a_size_is_a_number_only_where_it_may_be() -> None:
    assert parse_limits("[u:alice=1gb],[u:bob=7]", "quota", sizes=True).entries == {
        ("u", "alice"): 1 << 20, ("u", "bob"): 7,
    }  # fmt: skip
    for sizes, allowed in ((False, "a whole number, 0 or more"), (True, "a whole number, 0 or more, or a size")):
        with pytest.raises(LimitError, match=f"^quota: u:alice has '1 gb'; allowed is {allowed}$"):
            parse_limits("[u:alice=1 gb]", "quota", sizes=sizes)


def test_every_entry_that_cannot_be_read_is_named() -> None:
    with pytest.raises(LimitError) as refused:
        parse_limits("[x:alice=4],[u:bob=many],odd,[u:carol=1],[u:carol=2]", "quota")
    assert refused.value.problems == [
        "quota: 'x:alice' is no entity; allowed is u:USER, g:GROUP, p:PROJECT or o:PBS_ALL",
        "quota: u:bob has 'many'; allowed is a whole number, 0 or more",
        "quota: cannot read 'odd,[u:carol=1],[u:carol=2]'; allowed is [u:NAME=NUMBER], [g:..], [p:..], [o:PBS_ALL=..]",
        "quota: u:carol is given twice",
    ]


def test_entities_are_quoted_where_pbs_needs_it() -> None:
    assert show_entity(("u", "alice")) == "u:alice"
    assert show_entity(("u", "a b")) == '"u:a b"'
    assert parse_entity('u:"a b"', "q") == ("u", "a b")
