"""The one line for typing: ``:`` commands with completion, ``/`` filters; escape leaves it, enter hands it on."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from tui.core.lines import safe
from tui.widgets.lines import Paper

Complete = Callable[[str], list[str]]
_MOST_SHOWN = 8


class PromptInput(Input):
    """The field of a prompt."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("tab", "complete", show=False),
        Binding("up", "earlier", show=False),
        Binding("down", "later", show=False),
    ]

    class Left(Message):
        """Escape was pressed."""

    class Asked(Message):
        """Tab was pressed."""

    class Recalled(Message):
        """An earlier line was asked for (``steps`` below zero), or a later one."""

        def __init__(self, steps: int) -> None:
            super().__init__()
            self.steps = steps

    def action_leave(self) -> None:
        """Leave without doing anything."""
        self.post_message(self.Left())

    def action_complete(self) -> None:
        """Complete what was typed."""
        self.post_message(self.Asked())

    def action_earlier(self) -> None:
        """The line before."""
        self.post_message(self.Recalled(-1))

    def action_later(self) -> None:
        """The line after."""
        self.post_message(self.Recalled(1))


class Prompt(Horizontal):
    """A prefix (``:`` or ``/``), a field, and the completions that are possible."""

    DEFAULT_CSS = """
    Prompt { height: 1; display: none; }
    Prompt.open { display: block; }
    Prompt > .prefix { width: 2; }
    Prompt > PromptInput { width: 2fr; height: 1; border: none; padding: 0; background: $background; }
    Prompt > .candidates { width: 3fr; }
    """

    class Entered(Message):
        """A line was typed to its end. ``text`` is without the prefix."""

        def __init__(self, prefix: str, text: str) -> None:
            super().__init__()
            self.prefix, self.text = prefix, text

    class Closed(Message):
        """The prompt was left."""

    def __init__(self) -> None:
        super().__init__()
        self.field = PromptInput(compact=True, select_on_focus=False)
        self.prefix = ":"
        self._prefix_line = Paper(classes="prefix")
        self._candidates = Paper(classes="candidates")
        self._complete: Complete = lambda _: []
        self._history: dict[str, list[str]] = {}
        self._recalled = 0

    def compose(self) -> ComposeResult:
        """Prefix, field, candidates."""
        self._prefix_line.can_focus = False
        self._candidates.can_focus = False
        self.field.can_focus = False
        yield self._prefix_line
        yield self.field
        yield self._candidates

    @property
    def is_open(self) -> bool:
        """True while something is being typed."""
        return self.has_class("open")

    def open(self, prefix: str, text: str, complete: Complete) -> None:
        """Start typing after a prefix."""
        self.prefix, self._complete = prefix, complete
        self._recalled = 0
        self.add_class("open")
        self._prefix_line.show([((f" {prefix}", "key"),)])
        self._candidates.show([])
        self.field.can_focus = True
        self.field.value = text
        self.field.cursor_position = len(text)
        self.field.focus()

    def close(self) -> None:
        """Stop typing."""
        self.remove_class("open")
        self.field.can_focus = False
        self.post_message(self.Closed())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: hand the line on."""
        event.stop()
        text = event.value.strip()
        lines = self._history.setdefault(self.prefix, [])
        if text and (not lines or lines[-1] != text):
            lines.append(text)
        self.close()
        self.post_message(self.Entered(self.prefix, text))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what could follow."""
        event.stop()
        if self.is_open:
            self._show_candidates(self._complete(event.value))

    def on_prompt_input_left(self, event: PromptInput.Left) -> None:
        """Escape."""
        event.stop()
        self.close()

    def on_prompt_input_asked(self, event: PromptInput.Asked) -> None:
        """Tab: take what all candidates share, or the only one."""
        event.stop()
        found = self._complete(self.field.value)
        if found:
            shared = found[0] if len(found) == 1 else _shared_beginning(found)
            self.field.value = shared if len(shared) > len(self.field.value) else self.field.value
            self.field.cursor_position = len(self.field.value)

    def on_prompt_input_recalled(self, event: PromptInput.Recalled) -> None:
        """Up and down: earlier lines."""
        event.stop()
        lines = self._history.get(self.prefix, [])
        self._recalled = max(-len(lines), min(0, self._recalled + event.steps))
        self.field.value = lines[self._recalled] if self._recalled else ""
        self.field.cursor_position = len(self.field.value)

    def _show_candidates(self, found: list[str]) -> None:
        last = [safe(line.rpartition(" ")[2]) for line in found[:_MOST_SHOWN]]
        more = f"  and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
        self._candidates.show([(("  ".join(last) + more, "dim"),)] if last else [])


def _shared_beginning(lines: list[str]) -> str:
    shortest = min(lines, key=len)
    for index, character in enumerate(shortest):
        if any(line[index] != character for line in lines):
            return shortest[:index]
    return shortest
