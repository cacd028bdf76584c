"""Lines of a recorded file, plain or gzipped, of any size, and a count of those left out.

The packing is recognised by the first bytes, not the name. A file that cannot be read, or has a line that is too long,
is an error that names it; a line that makes no sense is left out alone, and counted by cause.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

_LINES_NAMED = 3


def read_lines(path: Path, longest_bytes: int, error: type[ValueError]) -> Iterator[bytes]:
    """The file's lines without line ends and without a byte order mark; problems are raised as `error`."""
    number = 0
    try:
        with path.open("rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            stream = cast("BinaryIO", gzip.GzipFile(fileobj=file)) if packed else file
            while line := stream.readline(longest_bytes + 1):
                number += 1
                if len(line) > longest_bytes:
                    raise error(f"{path}: line {number}: longer than {longest_bytes:,} bytes")
                yield (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).rstrip(b"\r\n")
    except OSError as failure:
        raise error(f"{path}: cannot be read: {failure.strerror or failure}") from failure
    except (EOFError, zlib.error) as failure:
        raise error(f"{path}: line {number + 1}: damaged or incomplete gzip data: {failure}") from failure


class LeftOut:
    """How often each cause occurred, and where first."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._files: dict[str, str] = {}
        self._lines: dict[str, tuple[int, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add(self, cause: str, line: int, file: str = "") -> None:
        """Count one line; `file` where there are several files."""
        self._counts[cause] = self._counts.get(cause, 0) + 1
        first_file = self._files.setdefault(cause, file)
        lines = self._lines.get(cause, ())
        if len(lines) < _LINES_NAMED and file == first_file:
            self._lines[cause] = (*lines, line)

    def counts(self) -> dict[str, int]:
        """Counts by cause; with several files, the cause names the first file that has it."""
        return {self._named(cause): count for cause, count in self._counts.items()}

    def lines(self) -> dict[str, tuple[int, ...]]:
        """The first line numbers of each cause, all in one file."""
        return {self._named(cause): lines for cause, lines in self._lines.items()}

    def _named(self, cause: str) -> str:
        file = self._files[cause]
        return f"{cause}, first in {file}" if file else cause
