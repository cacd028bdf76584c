"""PBS's JSON as it is: entries of a limit of the server as members of one name, stray backslashes, other damage."""

from __future__ import annotations

import json

import pytest

from hooks.pbs.files_and_output.json_output import read_json

ENTRIES = '{"max_run_res_soft": {"ncpus": "[u:alice=6]", "ncpus": "[g:PBS_GENERIC=5]", "mem": "[u:bob=4gb]"}}'
JOINED = {"ncpus": "[u:alice=6],[g:PBS_GENERIC=5]", "mem": "[u:bob=4gb]"}


@pytest.mark.parametrize("text", [ENTRIES, ENTRIES.replace("}}", ', "note": "a\\_b"}}')])
def test_all_entries_of_a_limit_of_the_server_are_read(text: str) -> None:
    found = read_json(text, "qstat")["max_run_res_soft"]
    assert {name: found[name] for name in JOINED} == JOINED


def test_of_other_members_of_one_name_the_last_counts() -> None:
    assert read_json('{"PATH": "/bin", "PATH": "/usr/bin", "n": 1, "n": 2}', "qstat") == {"PATH": "/usr/bin", "n": 2}


@pytest.mark.parametrize("text", ["", "[1]", '{"a": '])
def test_what_is_no_object_is_an_error_that_names_the_program(text: str) -> None:
    with pytest.raises(ValueError, match="qstat printed"):
        read_json(text, "qstat")


SHAPES = [("[", "]"), ('{"":', "}"), ('[{"x": "]}", "": ', "}]"), ('[1, "\\"[", ', "]")]


@pytest.mark.parametrize(("begin", "end"), SHAPES)
@pytest.mark.parametrize("depth", [1, 7, 30, 400, 990, 100_000])
def test_what_a_user_has_nested_deeply_in_a_resource_keeps_no_other_job_from_being_read(
    begin: str, end: str, depth: int
) -> None:
    """PBS parses each resource's text, and prints it as JSON where it is."""
    nested = begin * depth + '"core"' + end * depth
    jobs = (
        f'"7.s": {{"Resource_List": {{"software": {nested}, "ncpus": 4}}, "job_state": "H"}}, "8.s": {{"queue": "q"}}'
    )
    found = read_json(f'{{"Jobs": {{{jobs}}}}}', "qstat")["Jobs"]
    assert found["8.s"] == {"queue": "q"}
    assert (found["7.s"]["job_state"], found["7.s"]["Resource_List"]["ncpus"]) == ("H", 4)
    shown = json.dumps(found["7.s"]["Resource_List"]["software"])
    assert len(shown) < 400
    assert ("core" in shown) is (depth <= 7)


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a": ' * 5_000, '{"a": ' * 5_000 + '"'])
def test_nesting_without_an_end_is_an_error_that_names_the_program(text: str) -> None:
    with pytest.raises(ValueError, match="qstat printed"):
        read_json(text, "qstat")
