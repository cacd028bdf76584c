"""A job's own select and place, while its select is cut for a stripe."""

from __future__ import annotations

from collections.abc import Mapping

from hooks.pbs.custom_resources import OWN_SELECT


def without_stripe(resource_list: Mapping[str, str]) -> dict[str, str]:
    """The resource list with the job's own select and place instead of those of its stripe."""
    own = dict(resource_list)
    select = own.pop(OWN_SELECT, "")
    if select:
        own["select"] = select
        own["place"] = own_place(own.get("place", ""))
    return own


def own_place(place: str) -> str:
    """The place of a striped job before it was striped: only a job with ``free`` is striped."""
    return ":".join(["free", *(word for word in place.split(":") if word not in ("", "free", "scatter"))])


def undo_stripe(resource_list: Mapping[str, str]) -> dict[str, str | None]:
    """The changes that restore the job's own request; empty if it is not striped."""
    if not resource_list.get(OWN_SELECT):
        return {}
    own = without_stripe(resource_list)
    return {"select": own["select"], "place": own["place"], OWN_SELECT: None}
