"""Columns over PBS's own attributes, and completing a filter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.attribute_types import typed
from tui.tables.attribute_columns import attribute_column, attribute_names, find_attribute, value_of
from tui.tables.columns import Sort, arrange
from tui.tables.filter_line import complete_filter, parse_filter, quoted
from tui.text.screen_line import plain

JOBS = {
    "1": {"Resource_List.mem": "4gb", "Job_Name": "[/red]\x1b"},
    "2": {"Resource_List.mem": "512mb"},
    "3": {"Resource_List.walltime": "02:00:00"},
}


def test_attributes_are_counted_in_one_unit() -> None:
    assert value_of("12") == 12
    assert value_of("4gb") == 4 << 20
    assert value_of("02:00:00") == 7200
    assert value_of("2 apples") == "2 apples"
    assert value_of(None) is None


def test_a_number_longer_than_any_of_pbs_is_a_text_and_sorts_among_numbers() -> None:
    jobs = {"1": {"Resource_List.software": "9" * 5000}, "2": {"Resource_List.software": "12"}}
    assert value_of("9" * 18) == 10**18 - 1
    assert value_of("9" * 19) == "9" * 19
    software = attribute_column("Resource_List.software", jobs.get, {})
    assert set(arrange(list(jobs), [software], None, Sort(software.name, down=True))) == {"1", "2"}


def test_an_attribute_sorts_by_amount_and_shows_pbs_own_text() -> None:
    mem = attribute_column("Resource_List.mem", JOBS.get, {})
    assert list(arrange(list(JOBS), [mem], None, Sort(mem.name, down=True))) == ["1", "2", "3"]
    assert [plain(mem.show(key)) for key in JOBS] == ["4gb", "512mb", "-"]
    assert mem.export_value is not None
    assert mem.export_value("1") == 4 << 20
    assert "\x1b" not in plain(attribute_column("Job_Name", JOBS.get, {}).show("1"))


RESOURCES = {"scratch": {"type": "size"}, "ratio": {"type": "float"}, "tag": {"type": "string"}}


@pytest.mark.parametrize(
    ("name", "text", "data"),
    [
        ("Resource_List.mem", "4gb", 4 << 20),
        ("resources_used.mem", "100", 1),
        ("Resource_List.scratch", "1mb", 1024),
        ("Resource_List.walltime", "02:00:00", 7200),
        ("Resource_List.ratio", "0.5", 0.5),
        ("Resource_List.ratio", "nan", "nan"),
        ("Resource_List.tag", "12", "12"),
        ("Resource_List.unheard_of", "12", "12"),
        ("Resource_List.ncpus", "many", "many"),
        ("Priority", "-5", -5),
        ("ctime", "1790000000", 1_790_000_000),
        ("eligible_time", "00:01:05", 65),
        ("Job_Name", "12", "12"),
        ("comment", "02:00:00", "02:00:00"),
        ("ctime", None, None),
    ],
)
def test_as_data_an_attribute_has_its_type_where_that_is_known(name: str, text: str | None, data: object) -> None:
    found = typed(name, text, RESOURCES)
    assert (found, type(found)) == (data, type(data))


def test_an_attribute_is_found_by_its_name_in_any_case() -> None:
    assert find_attribute("resource_list.WALLTIME", list(JOBS), JOBS.get) == "Resource_List.walltime"
    assert find_attribute("Resource_List.ngpus", list(JOBS), JOBS.get) is None
    assert attribute_names(JOBS, JOBS.get) == ["Job_Name", "Resource_List.mem", "Resource_List.walltime"]


VALUES = {"user": ["alice", "a b", 'q"|*'], "state": ["Q", "R"]}
WORDS = {"field": ["user:", "state:"]}


def completed(text: str) -> list[str]:
    return complete_filter(text, WORDS, lambda field: VALUES.get(field, []))


def test_a_filter_completes_fields_and_values() -> None:
    assert completed("") == ["user:", "state:"]
    assert completed("x !us") == ["x !user:"]
    assert completed("user:al") == ["user:alice"]
    assert completed("state:Q|") == ["state:Q|Q", "state:Q|R"]
    assert completed("state:=") == ["state:=Q", "state:=R"]
    assert completed("user:a") == ["user:alice", 'user:"a b"']
    assert completed("cores:>") == []
    assert completed('name:"half a') == []


@given(st.text(min_size=1, max_size=12))
def test_a_quoted_text_finds_exactly_itself(name: str) -> None:
    wanted = parse_filter(f"user:={quoted(name)}", {"user": str})
    assert wanted.of([name, name + "x", "x" + name]) == [name]


def test_what_is_completed_can_be_read() -> None:
    for line in (*completed("user:"), *completed("state:R|")):
        assert parse_filter(line, {"user": str, "state": str})
