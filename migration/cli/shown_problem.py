"""What a program says when it ends with an error.

Texts of users and of other clusters may be in it: a terminal shows them, and acts on nothing in them.
"""

from __future__ import annotations

import click

from policy.model.printable_text import printable_lines


def shown_problem(problem: Exception | str) -> click.ClickException:
    """The problem for click, which prints it. Lines after the first are indented."""
    return click.ClickException(printable_lines(str(problem)))
