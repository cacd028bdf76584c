"""Where a line of a page leads to: a view with a filter, a subject or a cursor; and what can be acted on there."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple


class Link(NamedTuple):
    """``view`` with a ``filter`` as after a jump, else with a ``subject`` (a job, or the scope of quotas) and the key
    under its ``cursor``. ``kind`` (job, vnode, queue or empty) and ``names`` are what an operation would be on."""

    view: str
    filter: str = ""
    subject: str = ""
    cursor: Hashable | None = None
    kind: str = ""
    names: tuple[str, ...] = ()


PLAN = Link("plan")
