"""Deeds done from the screen: dialog, preview, the changes one by one and undo, the slow parts in worker threads.

Everything a thread learns comes back as a message. One deed is under way at a time; what can be undone is remembered
here, the last deed on top.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.audit.log import AuditLog
from tui.audit.unconfirmed import tell_unconfirmed
from tui.backends.base import Source, addressed
from tui.config.site import Site
from tui.operations.change import Change, ChangeError, make_all
from tui.operations.operation import Deed, foresee
from tui.operations.preview_lines import effect_lines
from tui.operations.safeguards import asked_for
from tui.screen.dialogs.operation import DeedDialog, Question, Rules
from tui.screen.workers.messages import Foreseen, Made, Making
from tui.state.cluster_view import World
from tui.text.lines import Line

if TYPE_CHECKING:
    from textual.screen import Screen

_REMEMBERED = 50
_OFTEN_S = 0.5


class Changes:
    """The changes made from one screen. ``done`` has for each deed the changes that went well, the last deed last;
    ``busy`` is the deed under way. ``clock`` is the wall clock."""

    def __init__(
        self,
        screen: Screen[None],
        source: Source,
        audit: AuditLog,
        unlocked: Callable[[], bool],
        unlock: Callable[[], object],
        site: Site,
        clock: Callable[[], float],
    ) -> None:
        self._screen, self._source, self._audit = screen, source, audit
        self._unlocked, self._unlock = unlocked, unlock
        self._site = site
        self._clock = clock
        self._halted = threading.Event()
        self.done: list[tuple[Deed, tuple[Change, ...]]] = []
        self.busy: Deed | None = None

    @property
    def user(self) -> str:
        """Who does it, as the audit file says."""
        return self._audit.actor.user

    @property
    def can_undo(self) -> bool:
        """Whether there is a last deed."""
        return bool(self.done)

    @property
    def undoes_last(self) -> bool:
        """Whether the last deed, or a part of it, can be taken back."""
        return bool(self.done) and any(change.undo() for change in self.done[-1][1])

    def why_not(self) -> str:
        """Why nothing can be done just now; empty where something can."""
        if self.busy is not None:
            return f"still at it: {self.busy.title} (:halt stops it)"
        return "" if self._unlocked() else "read-only: u unlocks"

    def unlock(self) -> None:
        """Unlock for a while, if it is locked."""
        if not self._unlocked():
            self._unlock()

    def unconfirmed(self) -> str:
        """What an earlier console sent and never saw confirmed, told once."""
        return tell_unconfirmed(self._audit, self._clock)

    def ask(self, question: Question, world: Callable[[], World]) -> None:
        """Open the dialog on a question; the deed that comes of it is done. Raises :class:`ChangeError` where the
        question takes no value and nothing can be done."""
        if not question.wanted:
            question.prepare("")
        rules = Rules(
            lambda deed: self.foresee(world(), deed),
            lambda deed: asked_for(deed, world().server_name or self._source.name, self._site),
            self.why_not,
            self.unlock,
        )
        self._screen.app.push_screen(DeedDialog(question, rules), self.chosen)

    def chosen(self, deed: Deed | None) -> None:
        """What somebody decided in a dialog: this deed, or nothing."""
        if deed is not None and self.busy is None:
            self._do(deed, undone=False)

    def undo(self) -> str:
        """Take the last deed back, each of its changes where nobody changed the value since; says where it cannot be.

        What cannot be taken back at all is passed over, so that asking again reaches the deed before it.
        """
        if self.busy is not None:
            return self.why_not()
        deed, changes = self.done[-1]
        back = tuple(undo for undo in (change.undo() for change in reversed(changes)) if undo is not None)
        if not back:
            self.done.pop()
            before = f"; z again takes back {self.done[-1][0].title}" if self.done else ""
            return f"{deed.title} cannot be taken back{before}"
        self._do(Deed(f"undo: {deed.title}", back, deed.edit), undone=True)
        return ""

    def halt(self) -> str:
        """Stop the deed under way after the command that is being sent."""
        if self.busy is None:
            return "nothing is under way"
        self._halted.set()
        return f"stopping {self.busy.title} after this command"

    def foresee(self, world: World, deed: Deed) -> None:
        """Work out what the deed would do; it comes back as :class:`Foreseen`."""

        def work() -> None:
            lines: list[Line]
            try:
                lines = effect_lines(foresee(world, deed), world)
            except ChangeError as error:
                lines = [((f"no preview: {error}", "warn"),)]
            except Exception as error:  # noqa: BLE001 - a preview that fails is a line on the screen, not the console's end
                lines = [((f"no preview: {type(error).__name__}: {error}", "bad"),)]
            self._screen.post_message(Foreseen(deed, lines))

        self._screen.run_worker(work, thread=True, name="preview")

    def _do(self, deed: Deed, *, undone: bool) -> None:
        self.busy = deed
        self._halted.clear()
        told_s = time.monotonic()

        def go_on(made: int) -> bool:
            nonlocal told_s
            if made and time.monotonic() - told_s > _OFTEN_S:
                told_s = time.monotonic()
                self._screen.post_message(Making(deed, made))
            return not self._halted.is_set()

        def work() -> None:
            audit = addressed(self._audit, self._source)
            outcomes = make_all(self._source, deed.changes, audit, self._clock, go_on)
            self._screen.post_message(Made(deed, outcomes, undone=undone))

        self._screen.run_worker(work, thread=True, name="change")

    def made(self, message: Made) -> str:
        """Remember what can be undone; gives the sentence for the screen, with what matters most in front.

        Of an undo that was interrupted, what nobody tried or confirmed stays, to be undone once more.
        """
        self.busy = None
        deed, outcomes = message.deed, message.outcomes
        went_well = tuple(outcome.change for outcome in outcomes if outcome.ok)
        if message.undone:
            first, changes = self.done.pop()
            left = {outcome.change.target for outcome in outcomes if outcome.lost}
            still = tuple(change for change in changes if change.target in left and change.undo() is not None)
            if still:
                self.done.append((first, still))
        elif went_well:
            self.done = [*self.done[-_REMEMBERED + 1 :], (deed, went_well)]
        undo = " · z undoes it" if went_well and not message.undone and self.undoes_last else ""
        if deed.unmet and went_well and not message.undone:
            undo = f", but {deed.unmet[0]}{undo}"
        if len(outcomes) == 1:
            return outcomes[0].text + undo
        failed = [outcome.text for outcome in outcomes if not outcome.ok]
        why = f" · first of {len(failed):,} that were not: {failed[0]}" if failed else ""
        return f"{deed.title}: {len(went_well):,} of {len(outcomes):,} done{undo}{why}"
