"""Reads and writes a table of quotas: CSV with a line of column names, or TOML with a table ``[[quota]]`` for each row.

A file is read whole or not at all: each problem is named with the file, the line, the value and what is allowed. The
CSV is what spreadsheets write: a byte order mark and semicolons instead of commas are accepted, empty lines and lines
that begin with # are left out.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from migration.config.parse_toml import parse_toml

FORMATS = ("csv", "toml")
MOST_ROWS = 5000
_MOST_BYTES = 4 << 20
_TABLE = "quota"
_TABLE_LINE = re.compile(r"\s*\[\[\s*quota\s*\]\]\s*(#.*)?")


class TableError(Exception):
    """A table that cannot be used; ``problems`` has a sentence for each thing that is wrong."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = list(problems)


class Row(NamedTuple):
    """One row: ``where`` names file and line; the values by column, texts without blanks around them in CSV and what
    TOML has in TOML. A column that is not in the table is not among them."""

    where: str
    values: Mapping[str, object]


class Table(NamedTuple):
    """The rows that have all they need, and a sentence for each thing that is wrong with the others or the file."""

    rows: list[Row]
    problems: list[str]


def read_table(path: Path, required: Sequence[str], optional: Sequence[str]) -> Table:
    """The rows of a file. Raises :class:`TableError` where the file cannot be read, or has too much in it."""
    kind = path.suffix.lower().lstrip(".")
    if kind not in FORMATS:
        raise TableError([f"{path}: the name ends in {path.suffix!r}; allowed is .csv or .toml"])
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise TableError([f"{path}: {path.stat().st_size:,} bytes; allowed are {_MOST_BYTES:,}"])
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise TableError([f"{path}: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise TableError(
            [f"{path}: byte {error.start} is {error.object[error.start]:#04x}; allowed is UTF-8"]
        ) from error
    columns = [*required, *optional]
    problems: list[str] = []
    rows = list(_rows_of_csv(path, text, columns, problems) if kind == "csv" else _rows_of_toml(path, text, problems))
    if len(rows) > MOST_ROWS:
        raise TableError([f"{path}: {len(rows):,} rows; allowed are {MOST_ROWS:,}"])
    if not problems and not rows:
        problems.append(f"{path}: no row")
    whole = []
    for row in rows:
        unknown = [name for name in row.values if name not in columns]
        missing = [name for name in required if row.values.get(name, "") == ""]
        problems += [f"{row.where}: {name!r} is no column; allowed are {', '.join(columns)}" for name in unknown]
        problems += [f"{row.where}: no {name}" for name in missing]
        if not unknown and not missing:
            whole.append(row)
    return Table(whole, problems)


def _rows_of_csv(path: Path, text: str, columns: Collection[str], problems: list[str]) -> Iterator[Row]:
    if "\0" in text:
        problems.append(f"{path}: a zero byte; allowed is text")
        return
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=";" if ";" in first else ",", strict=True)
    names: list[str] = []
    try:
        for fields in reader:
            where = f"{path} line {reader.line_num}"
            values = [field.strip() for field in fields]
            if not any(values) or values[0].startswith("#"):
                continue
            if not names:
                names = [value.lower() for value in values]
                found = _check_names(where, names, columns)
                if found:
                    problems += found
                    return
            elif len(values) != len(names):
                problems.append(f"{where}: {len(values)} fields; allowed are {len(names)}, as in the first line")
            else:
                yield Row(where, dict(zip(names, values)))
    except csv.Error as error:
        problems.append(f"{path} line {reader.line_num}: {error}")


def _check_names(where: str, names: Sequence[str], columns: Collection[str]) -> list[str]:
    allowed = f"allowed are {', '.join(columns)}"
    unknown = [f"{where}: {name!r} is no column; {allowed}" for name in names if name not in columns]
    twice = [
        f"{where}: column {name!r} is given twice" for name in sorted({name for name in names if names.count(name) > 1})
    ]
    return [*unknown, *twice]


def _rows_of_toml(path: Path, text: str, problems: list[str]) -> Iterator[Row]:
    try:
        data = parse_toml(text)
    except ValueError as error:
        problems.append(f"{path}: {error}")
        return
    problems += [f"{path}: {name!r}; allowed is [[{_TABLE}]]" for name in data if name != _TABLE]
    tables = data.get(_TABLE, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        problems.append(f"{path}: {_TABLE} is no list of tables; allowed is [[{_TABLE}]] for each row")
        return
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _TABLE_LINE.fullmatch(line)]
    for place, table in enumerate(tables):
        # A text over several lines may look like the begin of a table.
        where = f"line {lines[place]}" if len(lines) == len(tables) else f"[[{_TABLE}]] {place + 1}"
        yield Row(f"{path} {where}", table)


def write_table(rows: Sequence[Mapping[str, str | int]], columns: Sequence[str], kind: str) -> str:
    """The rows as the text of a file of this format; they read back as they are."""
    if kind == "toml":
        return "\n".join(
            "".join([f"[[{_TABLE}]]\n", *(f"{name} = {_toml(row[name])}\n" for name in columns)]) for row in rows
        )
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row[name] for name in columns] for row in rows)
    return out.getvalue()


def _toml(value: str | int) -> str:
    """A value in TOML: JSON's escapes are TOML's too, which has one more."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
