"""Numbers in PBS's syntax: sizes, durations and plain amounts (PBS Professional Reference Guide, "Resource Formats").

Sizes become KiB and durations seconds, so that all other modules count in one unit.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_SIZE = re.compile(r"^([0-9]{1,18})([kmgtp]?)([bw]?)$", re.IGNORECASE)
_KIB_SHIFT = {"": -10, "k": 0, "m": 10, "g": 20, "t": 30, "p": 40}
_WORD_BYTES = 8
_INDEX = re.compile(r"\[[0-9]+\]")
MOST_DIGITS = 18
"""Numbers with more digits are refused: arithmetic with them would overflow, or take for ever."""

SIZES = frozenset({"mem", "vmem", "accelerator_memory"})
"""PBS's own consumables that are sizes: without a suffix they are in bytes, and they are written in kb."""


class UnitError(ValueError):
    """A text that is no number of the expected kind; the message quotes it and says what is allowed."""


def parse_size_kib(text: str) -> int:
    """A PBS size (``4gb``, ``512mb``, ``100`` bytes, ``2kw`` words) in KiB, rounded up. Raises :class:`UnitError`."""
    match = _SIZE.match(text.strip())
    if not match:
        raise UnitError(f"{text!r} is no size: allowed is a whole number with b, kb, mb, gb, tb, pb (or w for words)")
    number, prefix, unit = match.groups()
    amount = int(number) * (_WORD_BYTES if unit.lower() == "w" else 1)
    shift = _KIB_SHIFT[prefix.lower()]
    return amount << shift if shift >= 0 else -(-amount >> -shift)


def parse_duration_s(text: str) -> int:
    """A PBS duration, ``[[hours:]minutes:]seconds``, in seconds; a fraction of a second is rounded up. Raises
    :class:`UnitError`."""
    parts = text.strip().split(":")
    whole, dot, fraction = parts[-1].partition(".")
    numbers = [*parts[:-1], whole]
    known = all(n.isascii() and n.isdigit() and len(n) <= MOST_DIGITS for n in numbers)
    if len(parts) > 3 or not known or (dot and not fraction.isdigit()):
        raise UnitError(f"{text!r} is no duration: allowed is [[hours:]minutes:]seconds")
    seconds = 0
    for number in numbers:
        seconds = seconds * 60 + int(number)
    return seconds + (1 if fraction.strip("0") else 0)


def parse_amount(text: str) -> int | None:
    """An amount of a consumable: a whole number, or a size in KiB; None where the text is neither."""
    stripped = text.strip()
    if stripped.isascii() and stripped.isdigit() and len(stripped) <= MOST_DIGITS:
        return int(stripped)
    if _SIZE.match(stripped):
        return parse_size_kib(stripped)
    try:
        number = float(stripped)
    except ValueError:
        return None
    return int(number) if 0 <= number < 1e18 else None


def parse_resource(name: str, text: str, sizes: Collection[str] = SIZES) -> int | None:
    """The amount of a named consumable, rounded up. One of ``sizes``, the resources that are sizes, is in bytes if it
    has no suffix."""
    if name in sizes and _SIZE.match(text.strip()):
        return parse_size_kib(text)
    amount = parse_amount(text)
    if amount is None or _SIZE.match(text.strip()):
        return amount
    return amount + (float(text) > amount)


def parse_measure(text: str) -> float | None:
    """A number, or a size in bytes, of a resource that is compared and not used up; None where the text is neither."""
    stripped = text.strip()
    match = _SIZE.match(stripped)
    if match:
        number, prefix, unit = match.groups()
        amount = float(int(number) << 10 + _KIB_SHIFT[prefix.lower()])
        return amount * _WORD_BYTES if unit.lower() == "w" else amount
    try:
        measure = float(stripped)
    except ValueError:
        return None
    return measure if abs(measure) < float("inf") else None


def show_resource(name: str, amount: int, sizes: Collection[str] = SIZES) -> str:
    """``name=amount`` in PBS's syntax; ``sizes`` are the resources that are sizes."""
    return f"{name}={show_amount(name, amount, sizes)}"


def show_amount(name: str, amount: int, sizes: Collection[str] = SIZES) -> str:
    """An amount of a resource in PBS's syntax: ``4``, ``1024kb``."""
    return f"{amount}kb" if name in sizes else str(amount)


def show_count(count: int, noun: str) -> str:
    """A number with its noun: ``1 job``, ``2,000 jobs``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def show_duration(seconds: float) -> str:
    """Seconds as administrators read them: ``45 s``, ``18 min``, ``1 h 08``, ``3 d 4 h``."""
    if seconds < 0:
        return "0 s"
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02d}"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"


def show_walltime(seconds: int) -> str:
    """Seconds in the format of ``qsub -l walltime=``: ``01:30:00``."""
    minutes, left = divmod(seconds, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{left:02d}"


def show_job(job_id: str) -> str:
    """A job's id without the server's name."""
    return job_id.partition(".")[0]


def array_of(job_id: str) -> str:
    """The id of the array of a subjob; any other id is returned as it is."""
    return _INDEX.sub("[]", job_id, count=1)
