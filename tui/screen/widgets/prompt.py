"""The line for typing: ``:`` commands with completion, ``/`` filters. Escape leaves it, enter submits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from rich.highlighter import Highlighter
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input

from tui.screen.widgets.base_line_view import Paper
from tui.text.screen_line import Line, safe

_MOST_SHOWN = 8
_ROOMY = 12
"""Lines that a screen needs for the list above the prompt."""


class Complaint(NamedTuple):
    """What is wrong with a line, and the range of characters concerned."""

    text: str
    start: int
    end: int


class Typing(NamedTuple):
    """What a prompt is for: ``complete`` gives the completions of a text, ``watch`` is called on each change and
    returns what is wrong with the text, ``enter`` takes the submitted line, ``before`` has the lines typed earlier.

    ``check`` returns what is wrong with a line that is submitted, ``leave`` is called by escape, ``describe`` gives the
    lines of the list above the prompt, the best in front.
    """

    complete: Callable[[str], list[str]]
    enter: Callable[[str], None]
    watch: Callable[[str], Complaint | None] = lambda _: None
    before: Sequence[str] = ()
    check: Callable[[str], Complaint | None] = lambda _: None
    leave: Callable[[], None] = lambda: None
    describe: Callable[[str], list[Line]] = lambda _: []


class PromptList(Paper):
    """The list above a prompt, over the view."""

    DEFAULT_CSS = """
    PromptList { layer: above; dock: bottom; margin-bottom: 1; height: 1; background: $surface; display: none; }
    """

    def tell(self, lines: list[Line]) -> None:
        """Show these lines, as many as a third of the screen has room for; none hides the list."""
        room = self.app.size.height // 3 if self.app.size.height >= _ROOMY else 0
        shown = lines[:room]
        self.display = bool(shown)
        if shown:
            self.styles.height = len(shown)
            self.show(shown)


class _Wrong(Highlighter):
    """Marks the part of the line that cannot be parsed; underlined, since not every screen has colours."""

    def __init__(self) -> None:
        self.start = self.end = 0

    def highlight(self, text: Text) -> None:
        """Mark it."""
        if self.end > self.start:
            text.stylize("bold underline", self.start, self.end)


class _Following(Suggester):
    """Suggests the first completion, behind the cursor."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.complete: Callable[[str], list[str]] = lambda _: []

    async def get_suggestion(self, value: str) -> str | None:
        """The first completion that begins with what was typed."""
        return next((line for line in self.complete(value) if line.startswith(value) and line != value), None)


class PromptInput(Input):
    """The field of a prompt."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", show=False),
        Binding("tab", "complete", show=False),
        Binding("up", "earlier", show=False),
        Binding("down", "later", show=False),
    ]

    class Cancelled(Message):
        """Escape was pressed."""

    class CompletionRequested(Message):
        """Tab was pressed."""

    class EarlierLineRequested(Message):
        """An earlier line was requested (``steps`` below zero), or a later one."""

        def __init__(self, steps: int) -> None:
            super().__init__()
            self.steps = steps

    def action_leave(self) -> None:
        """Leave without doing anything."""
        self.post_message(self.Cancelled())

    def action_complete(self) -> None:
        """Complete what was typed."""
        self.post_message(self.CompletionRequested())

    def action_earlier(self) -> None:
        """Recall the line before."""
        self.post_message(self.EarlierLineRequested(-1))

    def action_later(self) -> None:
        """Recall the line after."""
        self.post_message(self.EarlierLineRequested(1))


class Prompt(Horizontal):
    """A prefix (``:`` or ``/``), a field, and beside it the completions, the number of rows, or what is wrong."""

    DEFAULT_CSS = """
    Prompt { height: 1; display: none; }
    Prompt.open { display: block; }
    Prompt > .prefix { width: 2; }
    Prompt > PromptInput { width: 3fr; height: 1; border: none; padding: 0; background: $background; }
    Prompt > PromptInput > .input--suggestion { color: $text-muted; text-style: dim; }
    Prompt > .beside { width: 2fr; }
    """

    class Entered(Message):
        """A line was submitted. ``text`` is without the prefix."""

        def __init__(self, prefix: str, text: str) -> None:
            super().__init__()
            self.prefix, self.text = prefix, text

    class Closed(Message):
        """The prompt was closed."""

    class Rejected(Message):
        """Enter was pressed on a line that cannot be parsed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self) -> None:
        super().__init__()
        self._wrong, self._following = _Wrong(), _Following()
        self.field = PromptInput(
            compact=True, select_on_focus=False, highlighter=self._wrong, suggester=self._following
        )
        self.prefix = ":"
        self._prefix_line = Paper(classes="prefix")
        self._beside = Paper(classes="beside")
        self.above = PromptList()
        self.typing = Typing(lambda _: [], lambda _: None)
        self._recalled = 0
        self._typed = ""
        self._recalled_line: str | None = None

    def compose(self) -> ComposeResult:
        """Prefix, field, and what is beside it."""
        self._prefix_line.can_focus = self.above.can_focus = False
        self._beside.can_focus = False
        self.field.can_focus = False
        yield self._prefix_line
        yield self.field
        yield self._beside

    @property
    def is_open(self) -> bool:
        """True while something is being typed."""
        return self.has_class("open")

    def open(self, prefix: str, text: str, typing: Typing) -> None:
        """Open the prompt; ``text`` is already in the field."""
        self.prefix, self.typing = prefix, typing
        self._following.complete = typing.complete
        self._recalled, self._typed = 0, text
        self.add_class("open")
        self._prefix_line.show([((f" {prefix}", "key"),)])
        self._beside.show([])
        self.field.can_focus = True
        self._put(text)
        # Immediately: keys that were typed ahead belong to the field.
        self.screen.set_focus(self.field)

    def close(self) -> None:
        """Close the prompt."""
        self.remove_class("open")
        self.above.tell([])
        self.field.can_focus = False
        self.post_message(self.Closed())

    def show_note(self, text: str, of: str) -> None:
        """Show ``text`` beside the field if the line is still ``of``."""
        if self.is_open and self.field.value == of and not self._wrong.end:
            self._beside.show([((safe(text), "bold"), *self._candidates(of, before="   "))])

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: submit the line, if it can be parsed."""
        event.stop()
        text = event.value.strip()
        complaint = (self._watch(event.value) or self.typing.check(text)) if text else None
        if complaint is not None:
            self.above.tell([])
            self.post_message(self.Rejected(complaint.text))
            return
        self.close()
        self.post_message(self.Entered(self.prefix, text))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the completions, or what is wrong."""
        event.stop()
        if not self.is_open:
            return
        if event.value != self._recalled_line:
            self._recalled, self._typed = 0, event.value
        self._watch(event.value)

    def _watch(self, text: str) -> Complaint | None:
        complaint = self.typing.watch(text)
        self._wrong.start, self._wrong.end = (complaint.start, complaint.end) if complaint else (0, 0)
        self._beside.show([((safe(complaint.text), "bad"),) if complaint else self._candidates(text)])
        self.above.tell(self.typing.describe(text))
        self.field.refresh()
        return complaint

    def on_prompt_input_cancelled(self, event: PromptInput.Cancelled) -> None:
        """Escape: close."""
        event.stop()
        self.close()
        self.typing.leave()

    def on_prompt_input_completion_requested(self, event: PromptInput.CompletionRequested) -> None:
        """Tab: insert what all completions share; of a command's name else the first one."""
        event.stop()
        found = self.typing.complete(self.field.value)
        if found:
            shared = found[0] if len(found) == 1 else _shared_beginning(found)
            typed = self.field.value
            if shared.startswith(typed) and len(shared) > len(typed):
                self._put(shared)
            elif " " not in typed:
                self._put(found[0])

    def on_prompt_input_earlier_line_requested(self, event: PromptInput.EarlierLineRequested) -> None:
        """Up and down: recall earlier lines that begin with the typed text."""
        event.stop()
        lines = [line for line in self.typing.before if line.startswith(self._typed)]
        recalled = max(-len(lines), min(0, self._recalled + event.steps))
        if recalled != self._recalled:
            self._recalled = recalled
            self._recalled_line = lines[recalled] if recalled else self._typed
            self._put(self._recalled_line)

    def _put(self, text: str) -> None:
        self.field.value = text
        self.field.cursor_position = len(text)

    def _candidates(self, text: str, before: str = "") -> Line:
        found = self.typing.complete(text)
        last = [safe(line.rpartition(" ")[2]) for line in found[:_MOST_SHOWN]]
        more = f"  and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
        return ((before + "  ".join(last) + more, "dim"),) if last else ()


def _shared_beginning(lines: list[str]) -> str:
    shortest = min(lines, key=len)
    for index, character in enumerate(shortest):
        if any(line[index] != character for line in lines):
            return shortest[:index]
    return shortest
