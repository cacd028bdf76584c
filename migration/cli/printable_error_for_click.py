"""The error message with which a program ends.

It may contain texts of users and of other clusters, so control characters in it are escaped.
"""

from __future__ import annotations

import click

from policy.model.printable_text import printable_lines


def shown_problem(problem: Exception | str) -> click.ClickException:
    """The problem for click, which prints it. Lines after the first are indented."""
    return click.ClickException(printable_lines(str(problem)))
