"""Tables in files: what spreadsheets write is read, and whatever is wrong is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.quota_files.table_file import MOST_ROWS, TableError, read_table, write_table

COLUMNS = ("user", "queue", "quota")


def read(tmp_path: Path, data: str | bytes, name: str = "t.csv") -> list[tuple[str, dict[str, object]]]:
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    rows, problems = read_table(path, COLUMNS, ("resource",))
    if problems:
        raise TableError(problems)
    return [(row.where.removeprefix(f"{path} "), dict(row.values)) for row in rows]


@pytest.mark.parametrize(
    "data",
    [
        "user,queue,quota\nalice,workq,8\n",
        b"\xef\xbb\xbfuser;queue;quota\r\nalice;workq;8\r\n",
        '# by the office\n\nQuota , USER, queue\n\n"8", alice ,"workq"\n# end\n,,\n',
    ],
)
def test_what_spreadsheets_write_is_read(tmp_path: Path, data: str | bytes) -> None:
    ((_, values),) = read(tmp_path, data)
    assert values == {"user": "alice", "queue": "workq", "quota": "8"}


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("user,queue,qouta\na,b,1\n", "line 1: 'qouta' is no column; allowed are user, queue, quota, resource"),
        ("user,queue,user,quota\na,b,c,1\n", "line 1: column 'user' is given twice"),
        ("user,queue\na,b\n", "line 2: no quota"),
        ("user,queue,quota\na,b\n", "line 2: 2 fields; allowed are 3, as in the first line"),
        ('user,queue,quota\na,"b,1\n', "unexpected end of data"),
        ("", "no row"),
        ("user,queue,quota\n", "no row"),
        ("user,queue,quota\n\0,b,1\n", "a zero byte"),
        (b"user,queue,quota\n\xe4,b,1\n", "byte 17 is 0xe4; allowed is UTF-8"),
        ("user,queue,quota\n" + "a,b,1\n" * (MOST_ROWS + 1), f"{MOST_ROWS + 1:,} rows; allowed are {MOST_ROWS:,}"),
    ],
)
def test_what_is_wrong_with_a_csv_is_named(tmp_path: Path, data: str | bytes, says: str) -> None:
    with pytest.raises(TableError) as caught:
        read(tmp_path, data)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("quota = 3", "quota is no list of tables; allowed is [[quota]] for each row"),
        ("[[quotas]]\n", "'quotas'; allowed is [[quota]]"),
        ("[[quota]\n", "line 1"),
        ("[[quota]]\nuser = 'a'\nqueue = 'b'\n", "line 1: no quota"),
        ("[[quota]]\nuser = 'a'\nqueue = 'b'\nquota = 1\n[[quota]]\nfrom = 2\n", "line 5: 'from' is no column"),
        ('[[quota]]\nuser = """\n[[quota]]\n"""\nqueue = "b"\n', "[[quota]] 1: no quota"),
    ],
)
def test_what_is_wrong_with_a_toml_is_named(tmp_path: Path, data: str, says: str) -> None:
    with pytest.raises(TableError) as caught:
        read(tmp_path, data, "t.toml")
    assert says in str(caught.value)


def test_rows_beside_a_wrong_one_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("user,queue,quota\nalice,workq\n,workq,8\nbob,workq,8\n")
    rows, problems = read_table(path, COLUMNS, ())
    assert [row.values["user"] for row in rows] == ["bob"]
    assert [problem.partition(": ")[2] for problem in problems] == [
        "2 fields; allowed are 3, as in the first line",
        "no user",
    ]


def test_other_names_folders_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").mkdir()
    for name, says in (("t.xlsx", "allowed is .csv or .toml"), ("t.csv", "No such file"), ("d.csv", "Is a directory")):
        with pytest.raises(TableError, match=says):
            read_table(tmp_path / name, COLUMNS, ())


texts = (
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1)
    .map(str.strip)
    .filter(lambda text: text and not text.startswith("#"))
)
rows = st.lists(
    st.fixed_dictionaries({"user": texts, "queue": texts, "quota": st.integers(0, 10**9)}), min_size=1, max_size=5
)


@given(rows)
def test_what_is_written_reads_back(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str | int]]) -> None:
    folder = tmp_path_factory.mktemp("tables")
    for kind in ("csv", "toml"):
        path = folder / f"t.{kind}"
        path.write_text(write_table(rows, COLUMNS, kind), encoding="utf-8")
        found = [dict(row.values) for row in read_table(path, COLUMNS, ()).rows]
        assert found == [{**row, "quota": str(row["quota"]) if kind == "csv" else row["quota"]} for row in rows]
