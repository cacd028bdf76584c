"""Bytes from the keyboard that are not UTF-8 (another encoding, noise on the line) become an unknown key.

Textual decodes the terminal's input strictly, and stops at such a byte.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from functools import partial
from typing import Any

from textual.drivers import linux_driver


def take_any_bytes() -> None:
    """For the whole process: bytes that are not UTF-8 become replacement characters."""
    vars(linux_driver)["getincrementaldecoder"] = _forgiving


def _forgiving(encoding: str) -> Any:
    return partial(getincrementaldecoder(encoding), errors="replace")
