"""The sentence of the reason ``not-good-enough``: how far the vnodes open to a job are from its requirements
(docs/policies.md, P4).

The numbers come from :mod:`policy.ranking.vnode_ranking_and_requirements`.
"""

from __future__ import annotations

from policy.reasons.reason_names import Facts

_GIB = 1 << 20


def show_shortfall(facts: Facts) -> str:
    """The sentence for these facts.

    ``open``: how many vnodes are open to the job; ``meeting``: how many of them meet its requirements; ``nearest``: the
    nearest of the others, with the ``quantity`` that it misses (``has``, ``needs``, ``short``); ``silent``: how many
    cannot be judged without the ``unread`` reading, ``stale`` ones (an old reading) among them.
    """
    text = _meeting(facts["open"], facts["meeting"])
    if "nearest" in facts:
        text = f"{facts['nearest']} comes nearest, with {_miss(facts)}; {text}"
    if "silent" in facts:
        text += f"; without a recent reading of {facts['unread']}: {_vnodes(facts['silent'])}"
        text += f" ({facts['stale']} with an old one)" if facts["stale"] else ""
    return text


def _meeting(of: float | str, meeting: float | str) -> str:
    if meeting:
        meet = "meets" if meeting == 1 else "meet"
        return f"only {meeting} of the {of} vnodes open to it {meet} what it requires, where it does not fit now"
    if of == 1:
        return "the one vnode open to it does not meet what it requires"
    return f"none of the {of} vnodes open to it meets what it requires"


def _miss(facts: Facts) -> str:
    quantity = str(facts["quantity"])
    has, needs, short = (_amount(quantity, facts[name]) for name in ("has", "needs", "short"))
    if quantity == "temperature":
        return f"a temperature of {has} where at most {needs} is allowed: {short} too hot"
    return f"{has} of {quantity} left where {needs} is required: {short} too little"


def _amount(quantity: str, amount: float | str) -> str:
    if isinstance(amount, str):
        return amount
    return f"{amount / _GIB:,.6g} GiB" if quantity == "memory" else f"{amount:,.6g}"


def _vnodes(count: float | str) -> str:
    return "1 vnode" if count == 1 else f"{count} vnodes"
