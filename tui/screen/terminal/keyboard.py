"""What comes from the keyboard and is no UTF-8 (another encoding, noise on the line) is a strange key, not the end.

Textual reads the terminal with a strict decoder, and stops where it meets such a byte.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from functools import partial
from typing import Any

from textual.drivers import linux_driver


def take_any_bytes() -> None:
    """For the whole process: bytes that are no UTF-8 count as replacement characters."""
    vars(linux_driver)["getincrementaldecoder"] = _forgiving


def _forgiving(encoding: str) -> Any:
    return partial(getincrementaldecoder(encoding), errors="replace")
