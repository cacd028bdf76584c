"""Changing quotas from the screen: dialog, preview, write and undo, the slow parts in worker threads.

Everything a thread learns comes back as a message; the one change that can be undone is remembered here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from policy.limits import EntityKey
from tui.core.audit import AuditLog
from tui.core.effects import effect_lines
from tui.core.facts import limit_entry
from tui.core.lines import Line
from tui.core.quota_change import QuotaChange, QuotaError, change_of, check_queue, foresee, make
from tui.core.source import Source
from tui.core.world import World
from tui.dialogs.quota import QuotaDialog
from tui.news import Foreseen, Made

if TYPE_CHECKING:
    from textual.screen import Screen


class Changes:
    """The changes made from one screen."""

    def __init__(self, screen: Screen[None], source: Source, audit: AuditLog, unlocked: Callable[[], bool]) -> None:
        self._screen, self._source, self._audit, self._unlocked = screen, source, audit, unlocked
        self.last: QuotaChange | None = None

    def open_dialog(
        self, world: Callable[[], World], queue: str, entity: EntityKey, given: str, *, ascii_only: bool
    ) -> None:
        """Open the dialog on one quota; raises :class:`QuotaError` for a queue that the server has not."""
        seen = world()
        now = limit_entry(seen.picture.queues[check_queue(seen, queue)], seen.counted, entity)
        dialog = QuotaDialog(
            queue,
            entity,
            now,
            lambda after: change_of(world(), queue, entity, after),
            lambda change: self._foresee(world(), change),
            unlocked=self._unlocked,
            given=given,
            ascii_only=ascii_only,
        )
        self._screen.app.push_screen(dialog, self._chosen)

    def undo(self) -> None:
        """Take the last change back, if nobody changed the value since."""
        if self.last is not None:
            self._make(self.last.undo(), undone=True)

    def _chosen(self, change: QuotaChange | None) -> None:
        if change is not None:
            self._make(change, undone=False)

    def _foresee(self, world: World, change: QuotaChange) -> None:
        def work() -> None:
            lines: list[Line]
            try:
                lines = effect_lines(foresee(world, change))
            except QuotaError as error:
                lines = [((f"no preview: {error}", "warn"),)]
            except Exception as error:  # noqa: BLE001 - a preview that fails is a line on the screen, not the console's end
                lines = [((f"no preview: {type(error).__name__}: {error}", "bad"),)]
            self._screen.post_message(Foreseen(change, lines))

        self._screen.run_worker(work, thread=True, name="preview")

    def _make(self, change: QuotaChange, *, undone: bool) -> None:
        def work() -> None:
            outcome = make(self._source, change, self._audit, time.time)
            self._screen.post_message(Made(outcome, undone=undone))

        self._screen.run_worker(work, thread=True, name="change")

    def made(self, message: Made) -> None:
        """Remember what can be undone."""
        if message.outcome.ok:
            self.last = None if message.undone else message.outcome.change
