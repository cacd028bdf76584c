"""Reads a TOML file; an error is one line that names the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from migration.config.parse_toml import parse_toml

_MOST_BYTES = 4 << 20


class TomlFileError(ValueError):
    """A file that cannot be read as TOML."""


def read_toml(path: Path) -> dict[str, Any]:
    """The file's content. Raises :class:`TomlFileError`."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise TomlFileError(f"{path}: larger than {_MOST_BYTES >> 20} MiB; no settings file is")
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise TomlFileError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TomlFileError(f"{path}: not UTF-8 text: {error}") from error
    try:
        return parse_toml(text)
    except ValueError as error:
        raise TomlFileError(f"{path}: not TOML: {error}") from error
