"""The settings file as passes use it: read anew once it has changed, and kept as it was while it is not valid."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

from policy.settings.site_settings import Settings, SettingsError
from torque.passes.settings_as_server_attributes import check_for_torque


class WatchedSettings:
    """The file at ``path``, which ``read`` reads; the built-in settings where there is none. The first reading raises
    :class:`SettingsError` for a file that is not valid; later ones leave the sentence on it in ``complaint``."""

    def __init__(self, path: Path, read: Callable[[Path], Settings]) -> None:
        self._path, self._read = path, read
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

    def _read_now(self) -> Settings:
        settings = self._read(self._path) if self._stamp is not None else Settings()
        return check_for_torque(settings, str(self._path))

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
