"""The names of our hooks in a server, each with its event."""

from __future__ import annotations

from collections.abc import Mapping

from hooks.deploy.bundle_hook import EVENTS, ON_DEMAND
from policy.settings.ranking_and_stripe_settings import HANDED_ON_HOST
from policy.settings.site_settings import Settings

HOOKS: Mapping[str, str] = {f"pbsteer_{event}": event for event in EVENTS}
"""Our hooks that every server has, with their events."""

_ON_DEMAND = {f"pbsteer_{event}": event for event in ON_DEMAND}
ALL_HOOKS: Mapping[str, str] = {**HOOKS, **_ON_DEMAND}


def hooks_of(settings: Settings | None) -> Mapping[str, str]:
    """The hooks that a server with these settings has, with their events."""
    return ALL_HOOKS if settings is not None and settings.ranking.lists in HANDED_ON_HOST else HOOKS
