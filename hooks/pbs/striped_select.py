"""A job's own select and place, while its select is cut for a stripe."""

from __future__ import annotations

from collections.abc import Mapping

from hooks.pbs.resources import OWN_SELECT


def without_stripe(asked: Mapping[str, str]) -> dict[str, str]:
    """What the job asks for with its own select and place instead of those of its stripe."""
    own = dict(asked)
    select = own.pop(OWN_SELECT, "")
    if select:
        own["select"] = select
        own["place"] = own_place(own.get("place", ""))
    return own


def own_place(place: str) -> str:
    """The place of a striped job before it was striped: only ``free`` leaves that open."""
    return ":".join(["free", *(word for word in place.split(":") if word not in ("", "free", "scatter"))])


def undo_stripe(asked: Mapping[str, str]) -> dict[str, str | None]:
    """What to set so that the job asks for what it did by itself; empty where it does."""
    if not asked.get(OWN_SELECT):
        return {}
    own = without_stripe(asked)
    return {"select": own["select"], "place": own["place"], OWN_SELECT: None}
