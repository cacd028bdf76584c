"""Starts stripes on one node apart: records when one last started there, and refuses a start too soon after it.

The runjob hook writes starts of stripes into one small file, which is not synced to disk since everything in the server
waits: a crash loses a delay, and no pass decides by it (docs/policies.md, P5).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from hooks.pbs.custom_resources import APPLICATION, LAYOUT, OWN_SELECT, WIDTH
from hooks.store.atomic_file import replace_file
from hooks.store.bounded_json import parse_json
from hooks.store.state_folder import state_folder
from policy.settings.ranking_and_stripe_settings import StripeSettings

STRIPE_STARTS = "stripe-starts.json"


def is_stripe(asked: Mapping[str, str], nodes: int, settings: StripeSettings) -> bool:
    """Whether a job on this many nodes is one whose starts are kept apart: it was cut for a stripe, asks for one, or
    the site stripes."""
    layout = asked.get(LAYOUT) or ("stripe" if asked.get(WIDTH) else "")
    if nodes < 2 or layout == "pack":
        return False
    if not layout:
        layout, _ = settings.layout_of("", asked.get(APPLICATION, ""))
    return bool(asked.get(OWN_SELECT)) or layout == "stripe"


def refuse_too_soon(nodes: Collection[str], starts: Mapping[str, float], now_s: float, stagger_s: float) -> str | None:
    """The sentence to refuse a stripe's start with; None if the last one on each of its nodes is long enough ago.

    A recorded start in the future comes from a clock that was set back, and is ignored.
    """
    recent = [(starts[node], node) for node in nodes if now_s - stagger_s < starts.get(node, 0.0) <= now_s]
    if not recent:
        return None
    at_s, node = max(recent)
    return (
        f"a stripe started on node {node} {now_s - at_s:.0f} s ago, and two of them start {stagger_s:g} s apart there"
    )


def read_starts(pbs_home: str) -> dict[str, float]:
    """Node to the last start of a stripe on it, in seconds since 1970. Empty if the file cannot be read."""
    try:
        data = parse_json((state_folder(pbs_home) / STRIPE_STARTS).read_text(encoding="utf-8"))
        return {str(node): float(at_s) for node, at_s in data.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def note_start(
    pbs_home: str, nodes: Collection[str], starts: Mapping[str, float], now_s: float, stagger_s: float
) -> None:
    """Record that a stripe starts on these nodes now, and drop old records. Raises OSError."""
    kept = {node: at_s for node, at_s in starts.items() if now_s - stagger_s < at_s <= now_s}
    data = json.dumps({**kept, **dict.fromkeys(nodes, now_s)}).encode("ascii")
    replace_file(state_folder(pbs_home) / STRIPE_STARTS, data, sync=False)
