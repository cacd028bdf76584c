"""Stores a user's preferences and typed lines from one console session to the next.

The screen never waits for a disk: a change takes effect here at once; a thread then applies the changes one after
another to the current content of the file. What cannot be written is reported, and lasts as long as the console.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import NamedTuple

from tui.config.xdg_folders import config_folder, state_folder
from tui.user import prompt_history as typed
from tui.user import user_preferences
from tui.user.prompt_history import Typed
from tui.user.user_json_file import KeptFile
from tui.user.user_preferences import Preferences, problem_of, read_preferences

_GRACE_S = 3.0


class KeptFiles(NamedTuple):
    """The files of one user; by default nothing is kept."""

    preferences: KeptFile = KeptFile(None)
    typed: KeptFile = KeptFile(None)


def kept_files(environment: Mapping[str, str]) -> KeptFiles:
    """The user's files, whether they exist or not."""
    return KeptFiles(
        KeptFile(config_folder(environment) / user_preferences.FILE), KeptFile(state_folder(environment) / typed.FILE)
    )


class UserFiles:
    """The preferences and typed lines of one console. ``problem`` says why a file could not be used, empty where both
    could; ``complain`` is called from a thread with the reason why something could not be written.
    """

    def __init__(self, files: KeptFiles, complain: Callable[[str], None]) -> None:
        self._files, self._complain = files, complain
        self.preferences, self.problem = read_preferences(files.preferences)
        lines = files.typed.read()
        self.typed = Typed.from_data(lines.data)
        self.problem = self.problem or lines.problem
        self._work: SimpleQueue[Callable[[], str] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._reported = ""

    def prefer(self, change: Callable[[Preferences], Preferences]) -> None:
        """Change the preferences, here and in the file."""
        self.preferences = change(self.preferences)
        file = self._files.preferences
        self._write(lambda: file.change(lambda data: change(Preferences.from_data(data)).to_data(), problem_of))

    def remember(self, prefix: str, text: str) -> None:
        """Remember a typed line."""
        self.typed = self.typed.with_line(prefix, text)
        file = self._files.typed
        self._write(lambda: file.change(lambda data: Typed.from_data(data).with_line(prefix, text).to_data()))

    def close(self) -> None:
        """Wait up to ``_GRACE_S`` seconds for pending writes."""
        if self._thread is not None:
            self._work.put(None)
            self._thread.join(_GRACE_S)
            self._thread = None

    def _write(self, work: Callable[[], str]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="keeping", daemon=True)
            self._thread.start()
        self._work.put(work)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            problem = work()
            if problem and problem != self._reported:
                self._reported = problem
                self._complain(problem)
