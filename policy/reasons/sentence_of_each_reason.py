"""The sentence of each reason, made of its numbers and of what belongs to the job.

:meth:`policy.reasons.reason.Reason.sentence` makes the facts. A sentence that names a change that would help is tested
for that (``tests/property/test_changes_named_in_reasons_help.py``).
"""

from __future__ import annotations

from typing import Callable

from policy.model.jobs_runs_vnodes_queues import UNLIMITED_S
from policy.model.pbs_units import show_duration
from policy.reasons.numbers_in_reasons import (
    are,
    class_name,
    lacking,
    on_whole_cluster,
    quota_named,
    resource_but_cores,
    resource_noun,
    show_cores,
    show_counted,
    sizes_in,
)
from policy.reasons.reason_names import Facts, ReasonCode
from policy.reasons.requirement_shortfall_sentence import show_shortfall
from policy.reasons.windows_in_reasons import show_closed_vnodes, show_into_window, show_what_is_over


def _idle_in_vain(facts: Facts) -> str:
    """Why the head does not start although enough cores are idle."""
    if lacking(facts["cores"], facts["idle"]):
        return ""
    if "in_the_way" in facts:
        return f", but {facts['in_the_way']} is in the way"
    return _but_missing(facts) or (_but_shape(facts) if facts["exclusive"] else ", but not as it asks for them")


def _but_shape(facts: Facts) -> str:
    """Why idle cores do not do, where it is no other resource."""
    alone = " without other jobs (it asks for exclusive ones)" if facts["exclusive"] else ""
    return f", but not on vnodes{alone} in the shape it asks for{_in_sets(facts)}"


def _are_idle(facts: Facts) -> str:
    """``14 are idle``, and how many more are on vnodes that jobs hold exclusively, where these were counted."""
    alone = f" (and {facts['held_alone']} on vnodes that jobs hold exclusively)" if "held_alone" in facts else ""
    return f"{are(facts['idle'])} idle{alone}"


def show_shortage(facts: Facts) -> str:
    """What a job needs, what is idle, and why that does not do."""
    return f"needs {show_cores(facts['cores'])}, {_are_idle(facts)}{_idle_in_vain(facts)}"


def _but_missing(facts: Facts) -> str:
    """The resource that is missing beside the idle cores, where it is known."""
    return f", but too few of them where {facts['missing']} is free for each chunk" if "missing" in facts else ""


def _is_to_come(facts: Facts) -> bool:
    """Whether the time is later than now."""
    return facts["at_s_in"] != "now"


def _ago(facts: Facts) -> str:
    """An upper bound on how long ago a stripe started; empty in a dated sentence, which is read later."""
    return "" if facts["dated"] else f" less than {show_duration(float(facts['stagger_s']))} ago"


def _within(facts: Facts) -> str:
    """What would bring a job within the quota that it would exceed, unless another job takes it first."""
    used, need, limit = facts["used"], facts["need"], facts["limit"]
    if not (isinstance(used, int) and isinstance(need, int) and isinstance(limit, int)):
        return ""
    if "varies" in facts:
        return "; it counts with all of the vnodes that it has to itself, so with more or less on others"
    back = f"once {used + need - limit} of these are given back, or " if need <= limit else ""
    going = facts.get("going", 0)
    enough = used + need + (going if isinstance(going, int) else 0)
    return f": within it {back}with a quota of {enough}, if no other job takes that first"


def _in_class(facts: Facts) -> str:
    """What would lift a job out of the base class, whatever the jobs ahead of it take of the same quota."""
    needed, limit, used = facts.get("lifts_at"), facts["limit"], facts.get("held")
    if not (isinstance(needed, int) and isinstance(limit, int) and isinstance(used, int)):
        return ""
    back = f", or {needed - limit} of the {used} in use given back" if 0 < needed - limit <= used else ""
    return f": a quota of at least {needed} lifts it{back}"


def _quota_where(facts: Facts) -> str:
    """Where a priority quota is set, if not on the job's queue. Reasons of earlier versions do not say it."""
    return on_whole_cluster(facts.get("queue", "its queue"))


def _closed_then(facts: Facts) -> str:
    """A condition of the time at which a job could preempt, where other closures than now may be in its way by then."""
    return ", and no reservation or other closure is in the way by then" if "closed_then" in facts else ""


def _ahead(facts: Facts) -> str:
    """How many jobs are ahead of the job, where that was counted."""
    return f"; jobs ahead of it: {facts['ahead']:,}" if "ahead" in facts else ""


def _in_sets(facts: Facts) -> str:
    """By what the vnodes of the job have to be alike, where placement sets hold for it."""
    return f", in one placement set by {facts['sets']}" if facts["sets"] else ""


def _could_start(facts: Facts) -> bool:
    """Whether a job that ends by the reservation is sure to start: only the head is in its way, and no later job of the
    pass could take its start back."""
    return "only_head" in facts and not facts["placed"] and ("may_be_taken" not in facts or "keeps_start" in facts)


def _lets_start(facts: Facts) -> str:
    """What a job that passes a reservation could ask for instead to start now."""
    beside = facts.get("fewer", 0)
    if not _could_start(facts):
        return "would fit now, but "
    ways = [str(facts["walltimes"])] if facts["walltimes"] else []
    if facts["anywhere"] and isinstance(beside, int) and beside > 0:
        ways.append(f"at most {show_cores(beside)}")
    return f"{' or '.join(ways)} would let it start now: " if ways else "would fit now, but "


def _ends_before(facts: Facts) -> bool:
    """Whether the sentence claims only that a walltime ends before the reservation, not that the job would start with
    it."""
    return bool(facts["walltime"]) and not _could_start(facts)


def _at_limit(facts: Facts) -> str:
    """What a job at a limit of PBS waits for."""
    used, kept, need, limit = facts["used"], facts.get("kept", 0), facts["need"], facts["limit"]
    if not (isinstance(used, int) and isinstance(kept, int) and isinstance(need, int) and isinstance(limit, int)):
        return ""
    enough = used + kept + need
    back = f"{enough - limit} of these to be given back, or for " if need <= limit else ""
    return f": it waits for {back}a limit of {enough}"


def _kept_for(facts: Facts) -> str:
    """What else is not to be had: what is kept for jobs that come before this one."""
    if "kept" not in facts:
        return ""
    more = f" and {facts['kept_more']} more" if "kept_more" in facts else ""
    come = "come" if more or ", " in str(facts["kept_for"]) else "comes"
    return f" {facts['kept']} kept for {facts['kept_for']}{more}, which {come} first,"


def _why_not_managed(facts: Facts) -> str:
    """What happens to the jobs of a queue that pbsteer does not manage."""
    if "destinations" not in facts:
        return f"queue {facts['queue']} is not one that pbsteer manages: PBS's own scheduler decides"
    routes = f"queue {facts['queue']} routes its jobs to {facts['destinations'] or 'no queue yet'}"
    if facts["stopped"]:
        return f"{routes}, and is stopped: it moves no jobs until the queue is started (qstart)"
    return f"{routes}: PBS moves the job once one of these takes it"


def _will_not_do(facts: Facts) -> str:
    """Why the cores that may be taken, with the idle ones, are not enough."""
    cores, idle, there = facts["cores"], facts["idle"], facts["preemptible"]
    if isinstance(cores, int) and isinstance(idle, int) and isinstance(there, int) and idle + there >= cores:
        return "no choice of whole runs was found that leaves it room as it asks for it, and their owners their quotas"
    return f"with the {idle} idle it would still not fit"


def _capped(facts: Facts) -> str:
    """The cores that could be taken but for the cap on preemptions."""
    if not facts.get("capped"):
        return ""
    times = show_counted(facts["cap"], "time")
    return f"; {are(facts['capped'], 'core')} used by runs that were preempted as often as the cap allows, {times}"


SENTENCES: dict[ReasonCode, Callable[[Facts], str]] = {
    "blocked": lambda f: f"may not start: {f['why']}",
    "left-undone": lambda f: f"would start now, but {f['why']}",
    "not-before": lambda f: f"may not start before its set time, {f['at_s_in']}",
    "under-threshold": lambda f: (
        f"its value by job_sort_formula is {f['has']:g}, and only jobs above job_sort_formula_threshold"
        f" ({f['limit']:g}) may run"
    ),
    "no-fair-share": lambda f: (
        f"its fair share entity {f['entity']} has no share of the machine, and PBS's scheduler is set to run only jobs"
        " of entities with shares"
    ),
    "queue-stopped": lambda f: f"queue {f['queue']} is stopped: it starts no jobs until the queue is started (qstart)",
    "queue-unknown": _why_not_managed,
    "queue-closed": lambda f: (
        f"queue {f['queue']} starts no jobs now, in {f['window']}"
        + ("" if f["at_s"] == UNLIMITED_S else f"; it does again {f['at_s_in']}")
    ),
    "into-window": show_into_window,
    "pinned": lambda f: (
        f"goes back to where it was checkpointed, {f['vnodes']}, and waits until there is room for it there"
        + (", which there would not be now even if all were idle" if "gone" in f else "")
        + ": PBS itself binds it to these vnodes"
    ),
    "hard-limit": lambda f: (
        f"{f['scope']} allows {f['entity']} {f['limit']} {resource_noun(f['what'], sizes_in(f, f['what']))}:"
        f" {are(f['used'])} in use,{_kept_for(f)} and it needs {f['need']}{_at_limit(f)}"
    ),
    "server-resource": lambda f: (
        f"asks for {f['asked']} {resource_noun(f['resource'], sizes_in(f, f['resource']))} of the server:"
        f" {are(f['left'])} left,"
        + (
            f" and {f['short']} would be lacking with all jobs ended too: it waits for the server to have more, or for"
            " another request"
            if "short" in f
            else f"{_kept_for(f)} and it waits for {lacking(f['asked'], f['left'], f.get('kept', 0))} more"
        )
    ),
    "never-fits": lambda f: (
        f"needs {show_cores(f['cores'])} in {show_counted(f['chunks'], 'chunk')}, and the vnodes open to queue"
        f" {f['queue']} could hold {show_counted(f['possible'], 'chunk')} of that kind even if all were idle"
        + (f", for lack of {f['missing']} for each" if "missing" in f else "")
        + (f" ({f['with_away']:,} with those that take no jobs now)" if "with_away" in f else "")
        + ": it waits for more vnodes, or for another request"
    ),
    "never-arranged": lambda f: (
        (
            "no place was found for it even with all jobs ended: it asks for too many kinds of chunks to try all"
            f" arrangements on the vnodes open to queue {f['queue']}"
            if "unsure" in f
            else f"would not fit even if all jobs had ended: no placement set (by {f['sets']}) of the vnodes open to"
            f" queue {f['queue']} that take jobs holds it, and it may not span sets (do_not_span_psets)"
            if not f["spans"]
            else "would not fit even if all jobs had ended: the vnodes open to queue"
            f" {f['queue']} that take jobs do not hold it in the arrangement it asks for"
        )
        + "; it waits for more vnodes, or for another select or place"
    ),
    "held-elsewhere": lambda f: (
        f"waits for what is held on vnode {f['vnode']} ({f['what']})"
        + (f" and on {show_counted(f['others'], 'other vnode')}" if f["others"] else "")
        + " by jobs that pbsteer does not see, or by suspended jobs that keep a part of theirs: it would not fit"
        " even if all other jobs had ended"
    ),
    "reserved": lambda f: (
        (f"first in line, reserved to start {f['at_s_in']}: " if f["dated"] and _is_to_come(f) else "first in line: ")
        + f"{show_shortage(f)};"
        + (f" reserved to start {f['at_s_in']}, " if not f["dated"] and _is_to_come(f) else " it starts ")
        + show_what_is_over(f)
        + (", if the vnodes then meet what it requires" if f["requires"] else "")
    ),
    "topjob-ineligible": lambda f: (
        f"{show_shortage(f)}; no cores are reserved for it, as it is set topjob_ineligible: it starts if it fits when"
        " a pass tries it"
    ),
    "promise-moved": lambda f: (
        f"gave way to {f['beneficiary']}, which is within its quota or of a higher class"
        + ("" if f["at_s_in"] == "now" else f"; it had been promised a start {f['at_s_in']}")
    ),
    "behind-head": lambda f: f"waits behind {f['head']}, as no backfilling is set",
    "too-few-idle": lambda f: (
        f"needs {show_cores(f['cores'])}: {_are_idle(f)}{show_closed_vnodes(f)}{_ahead(f)};"
        " a start time is set for the first in line only"
    ),
    "fragmented": lambda f: (
        f"needs {show_cores(f['cores'])}: {_are_idle(f)}{_but_missing(f) or _but_shape(f)}"
        f"{show_closed_vnodes(f)}{_ahead(f)}"
    ),
    "vnode-run-limit": lambda f: (
        f"would fit, but on {show_counted(f['vnodes'], 'vnode')} as many jobs run as may run there ({f['what']}): it"
        f" waits for one of these to end{_ahead(f)}"
    ),
    "backfill-window": lambda f: (
        f"would run past the reservation of {f['head']} {f['at_s_in']} by {f['estimate']};"
        f" {are(f['beside'], 'core')} spare beside that"
        if f["dated"]
        else f"{_lets_start(f)}{f['estimate']} passes the reservation of {f['head']} {f['at_s_in']},"
        f" beside which {are(f['beside'], 'core')} spare"
        + (f": a walltime of at most {f['walltime']} ends before it" if _ends_before(f) else "")
    ),
    "preempting": lambda f: (
        f"starts {f['at_s_in']}, as promised, or as soon as its cores are free"
        + (f"; its victims are to free theirs by then: {f['victims']}" if f["victims"] else "")
        if "at_s" in f
        else f"starts as soon as its victims have freed their cores: {f['victims']}"
    ),
    "limit-of-pass": lambda f: (
        f"looked at again in the next pass: this one has reached its limit of {show_counted(f['limit'], 'start')}"
    ),
    "not-looked-at": lambda f: (
        "not looked at in this pass, which had no time left for it: the next pass begins with the jobs that this one"
        " has left out"
    ),
    "no-quota": lambda f: (
        f"preempts no job: no quota of {f['user']} in queue {f['queue']} counts it, and only a job that one counts may"
        " preempt"
    ),
    "over-quota": lambda f: (
        f"preempts no job: {f['entity']} would use {f['used']} + {f['need']} of {quota_named(f)}{_within(f)}"
    ),
    "unpreemptible": lambda f: (
        f"could not be preempted, as {f['why']}, so it starts within quota only: {f['entity']} would use"
        f" {f['used']} + {f['need']} of {quota_named(f)}{_within(f)}"
    ),
    "preempt-delay": lambda f: (
        f"may preempt {f['at_s_in']}, if the runs whose cores it could take now, and what is idle beside them, are"
        f" still there{_closed_then(f)}"
        if "cores_there" in f
        else f"may not preempt before its delay is over, {f['at_s_in']}"
    ),
    "no-victims": lambda f: (
        f"preempts no job: at most {show_cores(f['preemptible'])} may be taken from those over quota, and"
        f" {_will_not_do(f)}{_capped(f)}"
    ),
    "exempt-victims": lambda f: (
        f"preempts no job yet: runs that it could preempt are still in their exempt time; it can {f['enough_s_in']},"
        f" if they, and what is idle beside them, are still there{_closed_then(f)}"
    ),
    "preempt-delays-head": lambda f: (
        "preempts no job: running it on their cores would delay the job first in line"
        + (f"; with a walltime of at most {f['walltime']} it would not" if f["walltime"] else "")
    ),
    "victims-of-pass": lambda f: (
        f"preempts no job in this pass, which has taken {f['limit']} victims, its limit: looked at again in the next"
    ),
    "preempted-quota": lambda f: (
        f"preempted for {f['beneficiary']}: {f['entity']} used {f['used']} of {quota_named(f)}"
    ),
    "no-priority": lambda f: f"base class, preempts no job: {f['user']} has no priority in queue {f['queue']}",
    "base-class": lambda f: (
        f"base class, preempts no job: needs {f['need']}{resource_but_cores(f)}, and {are(f['left'])} left of the"
        f" priority quota of {f['limit']} of {f['entity']}{_quota_where(f)} after the jobs in line{_in_class(f)}"
    ),
    "no-lower-class": lambda f: (
        "preempts no job: no running job that may be preempted has a class below its own,"
        f" {class_name(f['class'])}{_capped(f)}"
    ),
    "too-few-lower": lambda f: (
        f"preempts no job: {are(f['preemptible'], 'core')} used by jobs below its class {class_name(f['class'])} that"
        f" may be preempted, and {_will_not_do(f)}{_capped(f)}"
    ),
    "preempted-class": lambda f: (
        f"preempted for {f['beneficiary']}, whose class {class_name(f['above'])} is above its own,"
        f" {class_name(f['class'])}"
    ),
    "cut-for-promise": lambda f: (
        f"cut for {f['beneficiary']}, whose promised time has come: it was backfilled on that condition, and waits"
        " again with its age"
    ),
    "cut-for-rescue": lambda f: (
        f"saved and requeued for {f['beneficiary']}, a short job that had waited long for its length: "
        f"{show_duration(f['left_s'])} were left of its estimate"
        if isinstance(f["left_s"], (int, float)) and f["left_s"] != UNLIMITED_S
        else f"saved and requeued for {f['beneficiary']}, a short job that had waited long for its length"
    ),
    "passed-over": lambda f: (
        f"the idle cores that it would take go to {f['beneficiary']}, which is within its quota or of a higher class"
    ),
    "striped": lambda f: (
        f"striped over {f['width']} nodes with at most {show_counted(f['pieces'], 'piece')} on each, where"
        f" {f['fewest']} would hold it: {f['by']}"
    ),
    "packed": lambda f: f"packed on as few nodes as have room: {f['why']}",
    "stripe-unplaced": lambda f: (
        f"tried over {f['width']} nodes: not so many have room now for their share of at most"
        f" {show_counted(f['pieces'], 'piece')}"
    ),
    "staggered": lambda f: (
        f"would fit now, but a stripe started on {f['vnode']}{_ago(f)}:"
        f" jobs that share nodes start one after the other; it may start {f['at_s_in']}"
    ),
    "not-good-enough": show_shortfall,
}
