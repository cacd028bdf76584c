"""Taking along what is on the screen: the clipboard, CSV and JSON files."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path

import pytest

from tests.tui.console_under_test import open_console
from tests.tui.scripted_server import ScriptedBackend, a_job, a_server_status, changed, many_jobs
from tui.tables.columns import Column
from tui.tables.export_table import as_csv


async def test_marked_names_are_copied_in_the_order_of_the_screen(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("5", "j", "space", "k", "k", "space", "y")
        assert steered.console.clipboard == "11.hpc1 12.hpc1"


async def test_rows_are_copied_with_tabs_between_their_cells(backend: ScriptedBackend, audit: Path) -> None:
    async with open_console(backend, audit) as steered:
        await steered.press("5")
        await steered.command("columns id user cores")
        await steered.press("Y")
        assert steered.console.clipboard == "11.hpc1\talice\t8"
        await steered.press("space", "space", "Y")
        assert steered.console.clipboard == "11.hpc1\talice\t8\n12.hpc1\talice\t4"
        assert "and 1 rows more" in steered.text
        await steered.press("1", "Y")
        assert "copy-row: works in a table" in steered.text
        await steered.press("g", "y")
        assert "copy: this line names nothing" in steered.text
        await steered.press("5")
        await steered.command("filter user:zzz")
        await steered.press("y")
        assert "copied 11.hpc1 12.hpc1" in steered.text, "what a filter hides stays marked"
        await steered.press("Y")
        assert "copy-row: none of the marked rows is shown" in steered.text
        await steered.press("escape", "asterisk", "asterisk")
        await steered.command("filter user:zzz")
        await steered.press("y")
        assert "copy: nothing is under the cursor here" in steered.text


async def test_all_rows_go_into_a_file_as_filtered_ordered_and_with_the_columns_shown(
    audit: Path, tmp_path: Path
) -> None:
    file = tmp_path / "two words.csv"
    async with open_console(ScriptedBackend(many_jobs(300)), audit, (100, 24)) as steered:
        await steered.press("5")
        await steered.command("columns id user cores")
        await steered.command("filter user:=user7|user8")
        await steered.command("sort cores")
        await steered.command(f"export {file}")
        await steered.until_shown("12 rows written to")
    rows = list(csv.DictReader(file.open(encoding="utf-8")))
    assert list(rows[0]) == ["id", "user", "cores"]
    assert {row["user"] for row in rows} == {"user7", "user8"}
    cores = [int(row["cores"]) for row in rows]
    assert cores == sorted(cores, reverse=True)
    assert len(rows) == 12
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_json_says_where_the_rows_are_from(backend: ScriptedBackend, audit: Path, tmp_path: Path) -> None:
    file = tmp_path / "vnodes.json"
    async with open_console(backend, audit) as steered:
        await steered.press("3")
        await steered.command(f"export {file}")
        await steered.until_shown("3 rows written to")
    data = json.loads(file.read_text())
    assert (data["server"], data["table"], data["filter"]) == ("hpc1", "vnodes", "")
    assert [row["vnode"] for row in data["rows"]] == ["v1", "v2", "v3"]
    assert data["rows"][1]["free"] == 4
    assert "fill" not in data["rows"][0], "a picture is no data"


async def test_nothing_is_overwritten_without_a_bang(backend: ScriptedBackend, audit: Path, tmp_path: Path) -> None:
    file, link = tmp_path / "there.csv", tmp_path / "link.csv"
    file.write_text("mine")
    link.symlink_to(tmp_path / "elsewhere")
    async with open_console(backend, audit, (250, 24)) as steered:
        await steered.press("5")
        await steered.command(f"export {file}")
        await steered.until_shown("is there already: ! after its name overwrites it")
        assert file.read_text() == "mine"
        await steered.command(f"export {link}")
        await steered.until_shown("link.csv is there already")
        assert not (tmp_path / "elsewhere").exists()
        await steered.command(f"export {file} !")
        await steered.until_shown("6 rows written to")
        assert file.read_text().startswith('"id","user",')
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "there.csv"]


async def test_what_cannot_be_written_is_reported(backend: ScriptedBackend, audit: Path, tmp_path: Path) -> None:
    async with open_console(backend, audit, (250, 24)) as steered:
        await steered.command("export x.csv")
        assert "export: works in queues" in steered.text
        await steered.press("5")
        await steered.command("export")
        assert "into which file?" in steered.text
        await steered.command("export jobs.xls")
        assert "'jobs.xls' says no format: allowed are names that end in .csv or .json" in steered.text
        await steered.command(f"export {tmp_path}/nowhere/jobs.csv")
        await steered.until_shown("No such file or directory")


async def test_a_formula_in_a_name_is_harmless(audit: Path, tmp_path: Path) -> None:
    server_status = a_server_status()
    evil = {"30.hpc1": a_job("bob", 1, name="=HYPERLINK(1)"), "31.hpc1": a_job("bob", 1, name="-2+3\x1b[2J\nnext")}
    backend = ScriptedBackend(changed(server_status, jobs=evil))
    file = tmp_path / "jobs.csv"
    async with open_console(backend, audit, (200, 24)) as steered:
        await steered.press("5")
        await steered.command("columns id name time")
        await steered.command(f"export {file}")
        await steered.until_shown("2 rows written to")
    text = file.read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert [row["name"] for row in csv.DictReader(text.splitlines())] == ["'=HYPERLINK(1)", "'-2+3␛[2J␊next"]
    assert len(text.splitlines()) == 3


@pytest.mark.parametrize(
    "name", ["x;=HYPERLINK(1)", " =1+1", "\u00a0@SUM(1)", 'say "=1"', "a,=1", "＝1+1", " ＠SUM(1)"]
)
def test_no_separator_of_any_locale_opens_a_cell_within_a_text(name: str) -> None:
    column: Column[str] = Column("name", "name", 10, str, lambda text: ((text, ""),))
    count: Column[str] = Column("count", "count", 5, lambda _: 7, lambda _: (("7", ""),))
    header, line = as_csv([column, count], [name]).splitlines()
    assert header == '"name","count"'
    assert line.startswith('"')
    assert line.endswith('",7')
    ((cell, number),) = csv.reader([line])
    assert (cell.lstrip("'").strip(), number) == (name.strip(), "7")
    assert not cell.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))
