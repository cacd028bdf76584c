"""The parts of reasons about windows: which windows close vnodes to a job, and when they begin and end.

The facts are those of :mod:`policy.reasons.reason`; names ending in ``_in`` are times in words.
"""

from __future__ import annotations

from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from policy.reasons.reason_names import Facts


def show_into_window(facts: Facts) -> str:
    """Why a job for which there is room waits: its run would overlap a window, or windows that have begun close all
    that room. Without a time: windows whose end is not known close the room that it would have later."""
    if "at_s" not in facts:
        over = "these are" if " and " in str(facts["window"]) else "that is"
        return (
            f"fits at no time that is known: {facts['estimate']} would run into {facts['window']}, and when {over} over"
            " is not known"
        )
    if facts["at_s_in"] == "now":
        more = facts["others"]
        keep = f"{facts['window']} and {more} more keep" if more else f"{facts['window']} keeps"
        return f"no vnodes have room for it but those that {keep}{'' if more else _over(facts)}"
    if "past" in facts:
        shorter = f": a walltime of at most {facts['walltime']} would end in time" if facts["walltime"] else ""
        spill = " by more than prime_spill allows" if facts["before_s"] != facts["at_s"] else ""
        return (
            (
                f"would fit now, but {facts['estimate']} would go on past the end of {facts['window']},"
                f" {facts['at_s_in']},{spill}{shorter}"
            )
            .replace(",:", ":")
            .rstrip(",")
        )
    shorter = f": a walltime of at most {facts['walltime']} would end before it" if facts["walltime"] else ""
    return (
        f"would fit now, but {facts['estimate']} would run into {facts['window']}, which begins {facts['at_s_in']}, on"
        f" all vnodes with room for it{shorter}{_over(facts)}"
    )


def show_closed_vnodes(facts: Facts) -> str:
    """Which reservation or other window closes vnodes of the job's queue at this moment."""
    if "kept_by" not in facts:
        return ""
    more = facts["kept_more"]
    if more:
        return f"; {facts['kept_by']} and {more} more keep some vnodes of its queue"
    over = "" if facts["kept_until_s"] == UNLIMITED_S else f", and is over {facts['kept_until_s_in']}"
    return f"; {facts['kept_by']} keeps some vnodes of its queue{over}"


def show_what_is_over(facts: Facts) -> str:
    """What has to be over, or to have ended, for the head to start."""
    if "over" not in facts:
        return "when enough running jobs have ended"
    return f"when {facts['over']} {'are' if ' and ' in str(facts['over']) else 'is'} over"


def _over(facts: Facts) -> str:
    """When the window that blocks the job ends."""
    return "" if facts["until_s"] == UNLIMITED_S else f"; that is over {facts['until_s_in']}"
