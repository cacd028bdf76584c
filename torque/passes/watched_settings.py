"""The settings file as passes use it: read anew once it has changed, and kept as it was while it is not valid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Callable

from policy.settings.site_settings import Settings, SettingsError
from torque.passes.settings_as_server_attributes import check_for_torque

EDIT = "edit-settings"
"""What stands for an edit of the file in the line of a change: no program is run."""
WHOLE_CLUSTER = "@server"
"""What stands for a queue where all of them together are meant."""

NO_ENTRY = "none"
"""The value of an entry that is to be removed."""


class WatchedSettings:
    """The file at ``path``, which ``read`` reads; the built-in settings where there is none. The first reading raises
    :class:`SettingsError` for a file that is not valid; later ones leave the sentence on it in ``complaint``. ``edit``
    changes one value of it: file, queue, key, value; it raises ValueError and OSError."""

    def __init__(self, path: Path, read: Callable[[Path], Settings], edit: Callable[[Sequence[str]], None]) -> None:
        self._path, self._read, self._edit = path, read, edit
        self.complaint = ""
        self._stamp = self._look()
        self._settings = self._read_now()

    def current(self) -> Settings:
        """The settings of the file, or those that were last valid."""
        stamp = self._look()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._settings, self.complaint = self._read_now(), ""
            except SettingsError as error:
                self.complaint = f"{'; '.join(error.problems)}; going on with the settings before"
        return self._settings

    def edit_of_quotas(self, queue: str, resource: str, entries: str) -> tuple[str, ...]:
        """The words of an edit of soft quotas: ``[u:alice=8],[g:chem=none]`` of a queue, or of the whole cluster."""
        return (str(self._path), queue or WHOLE_CLUSTER, f"quotas.{resource}", entries)

    def edit(self, words: Sequence[str]) -> None:
        """Make the edit. Raises ValueError if the file cannot be changed so, and OSError."""
        self._edit(words)

    def _read_now(self) -> Settings:
        settings = self._read(self._path) if self._stamp is not None else Settings()
        return check_for_torque(settings, str(self._path))

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
