"""JSON that a source has sent, of whatever version and with whatever aim: checked values, or TransferError and nothing
else.

What a newer version has added, at the end of a list or under another name, is passed over.
"""

from __future__ import annotations

from typing import Any, Callable, TypeVar

from hooks.store.bounded_json import parse_json
from migration.as_user.user_files.folder_tree_listing import check_inside
from migration.transfer.ssh_and_rsync_to_source import TransferError

_MOST_BYTES = 32 << 20
"""Of one text: the values of a larger one could take gigabytes here."""
_MOST_OF_LINE = 64 << 10
"""Longer than any entry: two paths of 4,096 bytes, each of which may be written with six characters."""
_MOST_SIZE = (1 << 63) - 1
_MOST_TIME_NS = _MOST_SIZE * 10**9
"""File systems have seconds of 64 bits at most; those before 1970 are negative."""

T = TypeVar("T")


def read_answer(data: bytes, read: Callable[[Any], T]) -> T:
    """What ``read`` makes of the value of one JSON text. Raises :class:`TransferError`, whatever the text has."""
    return _read("the source's answer", data, _MOST_BYTES, read)


def read_answer_lines(data: bytes, read: Callable[[Any], T]) -> list[T]:
    """The same of each line."""
    return [_read("the source's answer", line, _MOST_BYTES, read) for line in data.splitlines()]


def read_entry_lines(what: str, data: bytes, read: Callable[[Any], T]) -> list[T]:
    """The same of each line of a list of files; messages name it by ``what``."""
    return [_read(what, line, _MOST_OF_LINE, read) for line in data.splitlines()]


def _read(what: str, data: bytes, most: int, read: Callable[[Any], T]) -> T:
    if len(data) > most:
        raise TransferError(f"{what} has {len(data):,} bytes; allowed are {most:,}")
    try:
        return read(parse_json(data))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise TransferError(f"{what} cannot be read: {error}") from error


def check_list(value: object, least: int = 0) -> list[Any]:
    """A list of so many items at least. Raises ValueError."""
    if not isinstance(value, list) or len(value) < least:
        raise ValueError(f"{value!r:.60}: must be a list" + (f" of {least} items or more" if least else ""))
    return value


def check_text(value: object) -> str:
    """A text that can be written as bytes, as names of files are. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.60}: must be a text")  # noqa: TRY004 - the data is wrong, no argument
    value.encode("utf-8", "surrogateescape")
    return value


def check_path(value: object) -> str:
    """A path below a folder, without parts that lead out of it. Raises ValueError."""
    return check_inside(check_text(value))


def check_size(value: object) -> int:
    """The size of files in bytes. Raises ValueError."""
    return _check_whole(value, 0, _MOST_SIZE)


def check_time_ns(value: object) -> int:
    """The time of a file in nanoseconds since 1970. Raises ValueError."""
    return _check_whole(value, -_MOST_TIME_NS, _MOST_TIME_NS)


def _check_whole(value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{value!r:.60}: must be a whole number from {least} to {most}")
    return value
