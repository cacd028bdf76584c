"""The windows of reservations on each vnode, as an input for reading the vnodes.

They are apart from :mod:`hooks.translate.closures.reservations`, since the hook of starts reads vnodes without
reservations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policy.model.jobs_runs_vnodes_queues import Window


class Reservations(NamedTuple):
    """By vnode: the ``windows``, and in ``run`` the amounts that the server counts as assigned for reservations that
    run now."""

    windows: Mapping[str, tuple[Window, ...]]
    run: Mapping[str, Mapping[str, int]]
