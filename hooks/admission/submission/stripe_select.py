"""Cuts a job's select for a stripe, and keeps the select it had.

Where PBS's scheduler places the job, the stripe has to be in its select: one chunk for each node. The job's own select
is stored in a resource of the job, so that the stripe can be cut anew or undone at any time: after a move, after an
alteration, at the next start.
"""

from __future__ import annotations

from collections.abc import Mapping

from hooks.pbs.custom_resources import APPLICATION, LAYOUT, OWN_SELECT, STRIPE_NODES, WIDTH
from hooks.pbs.job_attributes.select_before_striping import undo_stripe, without_stripe
from hooks.store.event_hook_summary import QueueSummary, Summary
from hooks.translate.job.job_preferences import read_preferences
from policy.model.job_preferences import Layout
from policy.model.job_request import Request, RequestError, parse_request
from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S, Job
from policy.model.pbs_units import UnitError, parse_duration_s
from policy.settings.site_settings import Settings
from policy.striping.fewest_nodes_that_hold_request import cores_of
from policy.striping.layout_of_job import Surroundings, layout_of
from policy.striping.stripe_as_select import extent_of, stripe_chunks

_LONGEST_SELECT = 2000
_MOST_SHAPES = 4096
_LAYOUT_WISHES = (LAYOUT, WIDTH, STRIPE_NODES)
_DECIDES = ("select", "place", "walltime", APPLICATION, *_LAYOUT_WISHES)


def restripe(
    resource_list: Mapping[str, str], user: str, queue: QueueSummary, summary: Summary, settings: Settings
) -> dict[str, str | None]:
    """What to set so that PBS's scheduler stripes the job as it should be now, striped before or not; None unsets."""
    stripe = find_stripe(without_stripe(resource_list), user, queue, summary, settings)
    return {**stripe} if stripe else undo_stripe(resource_list)


def find_stripe(
    resource_list: Mapping[str, str], user: str, queue: QueueSummary, summary: Summary, settings: Settings
) -> dict[str, str]:
    """What to set so that PBS's scheduler stripes the job: ``select``, ``place``, and its own select to keep.

    ``resource_list`` is the job's own. Empty if the job stays as it is (docs/policies.md, P5): by preference, by
    settings, or because its select cannot be cut without a loss. The defaults that PBS would add to each chunk are
    written out, since it would add them to more chunks.
    """
    select = resource_list.get("select", "")
    # A quoted value, a fraction, a name with a dot: none of them is a plain amount.
    if not select or len(select) > _LONGEST_SELECT or any(character in select for character in "\"'."):
        return {}
    if not settings.stripe.lays_out and not any(name in resource_list for name in _LAYOUT_WISHES):
        return {}
    # What is learned, and so the layout, may be the user's own.
    shape = (id(queue), user, settings.stripe, *[resource_list.get(name) for name in _DECIDES])
    stripe = summary.stripes.get(shape)
    if stripe is None:
        if len(summary.stripes) >= _MOST_SHAPES:
            summary.stripes.clear()
        stripe = summary.stripes[shape] = _stripe(resource_list, user, queue, summary, settings)
    return dict(stripe)


def _stripe(
    resource_list: Mapping[str, str], user: str, queue: QueueSummary, summary: Summary, settings: Settings
) -> dict[str, str]:
    own = _with_defaults(resource_list["select"], queue.chunk)
    try:
        request = parse_request(own, resource_list.get("place", "") or queue.place, summary.consumables, summary.sizes)
    except RequestError:
        return {}
    job = _describe(resource_list, user, request, settings)
    extent = extent_of(request, queue.nodes, queue.most_chunks)
    around = Surroundings(lambda _: 0, lambda _: extent, lambda _: queue.batch)
    chosen = layout_of(job, summary.past.learned, settings.stripe, around)
    layout = chosen.layout
    if layout is not None and layout.kind == "pack" and chosen.open and _exceeds_nodes(request, queue):
        layout = Layout("stripe")
    if layout is None or layout.kind != "stripe":
        return {}
    width = chosen.width(extent.fewest)
    striped = stripe_chunks(
        request, layout._replace(width=width), queue.nodes, settings.stripe.width_factor, queue.most_chunks
    )
    if striped is None:
        return {}
    place = ":".join(filter(None, ("scatter", striped.sharing)))
    return {OWN_SELECT: own, "select": striped.show_select(summary.sizes), "place": place}


def _exceeds_nodes(request: Request, queue: QueueSummary) -> bool:
    """Whether a chunk has more cores than the largest node: PBS's scheduler could run the job only in pieces."""
    return request.hardest.cores > max((cores_of(size) for size, _ in queue.nodes), default=0)


def _describe(resource_list: Mapping[str, str], user: str, request: Request, settings: Settings) -> Job:
    preferences = read_preferences(resource_list, settings.ranking)
    try:
        estimate_s = (
            float(parse_duration_s(resource_list["walltime"])) if resource_list.get("walltime") else UNLIMITED_S
        )
    except UnitError:
        estimate_s = UNLIMITED_S
    return Job(
        "",
        user,
        request,
        "",
        0.0,
        estimate_s,
        application=resource_list.get(APPLICATION, ""),
        layout=preferences.layout,
    )


def _with_defaults(select: str, defaults: Mapping[str, str]) -> str:
    """The select, each chunk with the defaults that it does not name."""
    chunks = []
    for chunk in select.split("+"):
        named = {part.partition("=")[0].strip() for part in chunk.split(":")}
        chunks.append(":".join([chunk, *(f"{name}={text}" for name, text in defaults.items() if name not in named)]))
    return "+".join(chunks)
