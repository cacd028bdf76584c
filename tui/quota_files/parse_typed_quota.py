"""What users type for a limit: the quota, and whose it is."""

from __future__ import annotations

from policy.model.limit_attributes import ALL, EntityKey
from policy.quota_plan.planned_quotas import MOST_QUOTA
from tui.backends.interface.commands_interface import ChangeError, Commands
from tui.text.typed_numbers import parse_whole

_KINDS = ("u", "g", "p", "o")


def parse_quota(text: str, what: str = "quota") -> int | None:
    """The number of cores, or the priority, in the text; None for ``none``. Raises :class:`ChangeError`."""
    stripped = text.strip()
    if stripped.lower() == "none":
        return None
    quota = parse_whole(stripped)
    if quota is None or quota > MOST_QUOTA:
        raise ChangeError(f"{what} {stripped!r}: allowed is a whole number from 0 to {MOST_QUOTA:,}, or none")
    return quota


def parse_entity(commands: Commands, text: str) -> EntityKey:
    """The entity of a typed name: a user, or ``g:NAME`` for a group, ``p:NAME`` for a project, ``o:PBS_ALL`` for all.

    Raises :class:`ChangeError` for a name that the manager does not accept.
    """
    kind, colon, name = text.partition(":")
    entity = (kind, name) if colon and kind in _KINDS else ("u", text)
    if entity[0] == "o" and entity != ALL:
        raise ChangeError(f"{text!r}: allowed for all together is o:PBS_ALL")
    commands.check_name(entity[1])
    return entity


def show_user(entity: EntityKey) -> str:
    """The entity as :func:`parse_entity` reads it."""
    kind, name = entity
    return name if kind == "u" else f"{kind}:{name}"
