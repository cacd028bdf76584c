"""The output of qmgr's list: objects, long values on several lines, and attributes that are listed several times."""

from __future__ import annotations

from hooks.pbs.files_and_output.parse_qmgr_list import parse_list

LISTED = """\
Resource ngpus
    type = long
    flag = hn

Sched default
    sched_priv = /var/spool/pbs/sched_priv
    comment = a long value that goes on
\tbelow, = with a sign
    partition = a
    partition = b
"""


def test_each_object_has_its_attributes() -> None:
    assert parse_list(LISTED) == {
        "ngpus": {"type": "long", "flag": "hn"},
        "default": {
            "sched_priv": "/var/spool/pbs/sched_priv",
            "comment": "a long value that goes onbelow, = with a sign",
            "partition": "a,b",
        },
    }


def test_no_output_is_no_object() -> None:
    assert parse_list("") == {}
