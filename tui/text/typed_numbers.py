"""Numbers as people type them, with commas or underscores between thousands only.

``1,5`` is one and a half where a comma is the decimal point: it is refused, not read as fifteen. So are ``nan`` and
``inf``, and numbers of more digits than Python reads.
"""

from __future__ import annotations

import re

_WHOLE = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,3}(?:_[0-9]{3})+|[0-9]+)"
_IS_WHOLE = re.compile(_WHOLE)
_IS_DECIMAL = re.compile(rf"[+-]?(?:{_WHOLE}\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{{1,2}})?")
_SEPARATORS = str.maketrans("", "", ",_")
_LONGEST = 100
"""Python refuses to read a number of some thousand digits."""


def parse_whole(text: str) -> int | None:
    """A whole number without a sign; None for anything else."""
    return int(text.translate(_SEPARATORS)) if len(text) <= _LONGEST and _IS_WHOLE.fullmatch(text) else None


def parse_decimal(text: str) -> float | None:
    """A finite number, also with a sign, decimals or an exponent; None for anything else."""
    return float(text.translate(_SEPARATORS)) if len(text) <= _LONGEST and _IS_DECIMAL.fullmatch(text) else None
