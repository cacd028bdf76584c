"""The hooks' settings as PBS hands them over: one JSON file, read again only when it has changed."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path

from hooks.store.bounded_json import parse_json
from policy.settings.site_settings import Settings


def show_config(settings: Settings) -> str:
    """The settings as the text to import into a hook: ASCII JSON, always the same for the same settings."""
    return json.dumps(settings.to_data(), indent=1, sort_keys=True) + "\n"


def read_config(path: str | None) -> Settings:
    """The settings in a hook's configuration file; the defaults if the hook has none.

    Raises `policy.settings.site_settings.SettingsError`, OSError or ValueError for a file that cannot be used.
    """
    if not path:
        return Settings()
    changed = os.stat(path)  # noqa: PTH116 - a path object costs more than the rest of this, at each submission
    return _read(path, changed.st_mtime_ns, changed.st_size)


def is_removed(path: str | None) -> bool:
    """Whether the hook of this configuration file has been deleted from the server: PBS deletes its script with it."""
    return bool(path) and not Path(str(path)).exists() and not Path(str(path)).with_suffix(".PY").exists()


@lru_cache(maxsize=4)
def _read(path: str, _changed_ns: int, _size: int) -> Settings:
    data = parse_json(Path(path).read_text(encoding="utf-8"))
    return Settings.from_data(data, path)
