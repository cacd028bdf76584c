"""What Torque 6.1.3 says where it cannot be reached (recorded), and the sentence that says what to do."""

from __future__ import annotations

import pytest

from tui.backends.torque.explain_unreachable_torque import explain

NO_TRQAUTHD = (
    "qstat: socket_connect_unix failed: 15137 socket_connect_unix failed: 15137 qstat: cannot connect to server (null)"
    " (errno=15137) could not connect to trqauthd qstat: Error (15137 - could not connect to trqauthd)"
)
DOWN = (
    "qstat: Unable to communicate with tq(10.40.177.1) Cannot connect to specified server host 'tq'. qstat: cannot"
    " connect to server tq (errno=111) Connection refused qstat: Error (111 - Connection refused)"
)
HANGS = (
    "pbsnodes: Unable to communicate with tq(10.40.177.1) pbsnodes: cannot connect to server tq, error=15096 (Unable to"
    " get connection to socket)"
)
NO_SUCH_NAME = (
    "qstat: Can not resolve name for server tq. (rc = -2 - ) Cannot resolve specified server host 'tq'. qstat: cannot"
    " connect to server tq (errno=15010) Access from host not allowed, or unknown host"
)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (NO_TRQAUTHD, "start trqauthd on this host"),
        (DOWN, "is down or refuses connections: start pbs_server there"),
        ("cannot connect to tq: error 111", "is down or refuses connections: start pbs_server there"),
        (HANGS, "does not answer: it hangs, its host is down, or trqauthd does not run here"),
        ("cannot connect to tq: error 15096", "does not answer"),
        (NO_SUCH_NAME, "check the name, server_name in Torque's home"),
        ("cannot connect to tq: error 15010", "check the name, server_name in Torque's home"),
        ("cannot read the jobs: error 15085", "did not answer in time"),
        ("qstat did not answer within 60 s", "did not answer in time"),
    ],
)
def test_each_failure_has_its_sentence(said: str, sentence: str) -> None:
    explained = explain(said, "tq")
    assert sentence in explained
    assert explained.startswith(("the Torque server on tq", "no Torque server tq"))
    assert explained.count("cannot connect") <= 1


@pytest.mark.parametrize(
    "said",
    [
        "qrerun: Unauthorized Request  MSG=operation not permitted 0.tq",
        "the server listed 0 jobs and counts 5: the list is not used",
        "qstat: Unknown Job Id Error 99.tq",
    ],
)
def test_what_a_reachable_server_says_is_not_explained(said: str) -> None:
    assert explain(said, "tq") == ""
