"""A server that cannot be reached: PBS's number or words become one sentence with what to do."""

from __future__ import annotations

import pytest

from tui.backends.pbs.explain_unreachable_server import explain


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("cannot connect to the PBS server: error 15010", "is down or refuses connections: start it there"),
        ('qmgr -c "list hook": Connection refused qmgr: cannot connect to server', "is down or refuses connections"),
        ("Unknown Host. qstat: cannot connect to server hpc9 (errno=15008)", "check the name"),
        ("Communication failure. qstat: cannot connect to server hpc9 (errno=15031)", "port 15001"),
        ("No Permission. qstat: cannot connect to server hpc9 (errno=15007)", "pbs_iff is setuid root"),
        ("cannot read the jobs: Unauthorized Request (15007)", "does not authorise this user"),
        ("cannot connect to the PBS server: error 15033", "try again in a minute"),
    ],
)
def test_each_cause_has_a_sentence_and_keeps_what_pbs_said(said: str, sentence: str) -> None:
    explained = explain(said, "hpc9")
    assert sentence in explained
    assert explained.endswith(said)


@pytest.mark.parametrize("said", ["", "the reader ended: Broken pipe", "qmgr: Unknown queue (15018)"])
def test_what_is_no_lost_server_is_left_as_it_is(said: str) -> None:
    assert explain(said, "hpc9") == ""
