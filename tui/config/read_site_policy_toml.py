"""The site's settings file: its path, and how it is read."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from hooks.store.bounded_json import parse_json
from migration.config.parse_toml import parse_toml
from policy import Settings, SettingsError

DEFAULT_POLICY = Path("/etc/pbsteer/policy.toml")


def read_settings(path: Path) -> Settings:
    """The settings in a TOML (or ``.json``) file. Raises :class:`policy.SettingsError` with every problem; its cause is
    an OSError if the file could not be read."""
    try:
        # A FIFO would be waited for, and a device may have no end.
        if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
            raise SettingsError([f"{path}: cannot be read: allowed is a regular file"])
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise SettingsError([f"{path}: cannot be read: {reason}"]) from error
    try:
        data: Any = parse_json(text, _to_table) if path.suffix == ".json" else parse_toml(text)
    except ValueError as error:
        raise SettingsError([f"{path}: not {'JSON' if path.suffix == '.json' else 'TOML'}: {error}"]) from error
    if not isinstance(data, dict):
        raise SettingsError([f"{path}: allowed is a table of settings, this is {type(data).__name__}"])
    return Settings.from_data(data, str(path))


def _to_table(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of a JSON object; a key given twice is refused, as TOML refuses it."""
    table: dict[str, Any] = {}
    for key, value in members:
        if key in table:
            raise ValueError(f"{key!r} is given twice; allowed is each key of a table once")
        table[key] = value
    return table


def has_site_settings() -> bool:
    """Whether the host has its own settings file, :data:`DEFAULT_POLICY`."""
    try:
        DEFAULT_POLICY.stat()
    except OSError as error:
        # Where this user may not look, reading the file says so.
        return isinstance(error, PermissionError)
    return True


def chosen_settings(path: Path | None) -> Settings:
    """The settings in the given file, else in the host's own file, else the defaults."""
    if path is not None:
        return read_settings(path)
    return read_settings(DEFAULT_POLICY) if has_site_settings() else Settings()
