"""The programs' output: what users wrote into it does no harm, and what is no answer of Torque's is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.torque.recorded_status import recorded_text
from torque.read.parse_program_output import OutputError, parse_objects, parse_texts


def test_one_users_control_characters_hide_no_job() -> None:
    recorded = recorded_text("jobs.xml")
    assert "\x01" in recorded
    jobs = parse_objects(recorded, "Job")
    assert len(jobs) == recorded.count("<Job>") == 26
    (hostile,) = (texts for texts in jobs.values() if texts["Job_Name"] == "hostile")
    assert hostile["Account_Name"] == "a[31m"
    assert "B=c<&>" in hostile["Variable_List"]


@given(st.text(max_size=40))
def test_any_text_in_a_name_leaves_the_other_jobs(name: str) -> None:
    escaped = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = f"<Data><Job><Job_Id>1.s</Job_Id><Job_Name>{escaped}</Job_Name></Job><Job><Job_Id>2.s</Job_Id></Job></Data>"
    assert parse_objects(text, "Job").keys() == {"1.s", "2.s"}


def test_resources_have_dotted_names() -> None:
    text = "<Data><Job><Job_Id>1.s</Job_Id><Resource_List><nodes>2</nodes></Resource_List></Job></Data>"
    assert parse_objects(text, "Job") == {"1.s": {"Resource_List.nodes": "2"}}


def test_no_output_is_no_object() -> None:
    assert parse_objects("", "Job") == parse_objects("\n", "Node") == {}


@pytest.mark.parametrize(
    "text",
    [
        "<Data><Job><Job_Id>1.s</Job_Id>",
        "qstat: cannot connect",
        '<!DOCTYPE x [<!ENTITY a "aa">]><Data><Job><Job_Id>&a;</Job_Id></Job></Data>',
        '<!DOCTYPE x SYSTEM "file:///etc/passwd"><Data></Data>',
    ],
)
def test_what_torque_does_not_write_is_refused(text: str) -> None:
    with pytest.raises(OutputError):
        parse_objects(text, "Job")


def test_folded_lines_of_the_text_are_joined() -> None:
    server = parse_texts(recorded_text("server.txt"))["tq"]
    assert server["state_count"].endswith("Complete:2")
    assert server["total_jobs"] == "26"
