"""Turns the error of a PBS server that cannot be reached into one sentence with what to do.

PBS's library and programs give a number of their own or a few words; both are matched.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

_CONNECTING = re.compile(r"cannot connect|Unauthorized Request|No Permission", re.IGNORECASE)
_NUMBER = re.compile(r"(?:errno=|error |\()(15\d{3})\b")


class _Cause(NamedTuple):
    """One reason: PBS's error numbers and words for it, and the sentence for a server's name."""

    numbers: frozenset[str]
    words: tuple[str, ...]
    sentence: Callable[[str], str]


_CAUSES = (
    _Cause(
        frozenset({"15010"}),
        ("connection refused",),
        lambda server: (
            f"the PBS server on {server} is down or refuses connections: start it there (systemctl start pbs)"
        ),
    ),
    _Cause(
        frozenset({"15008"}),
        ("unknown host", "access from host not allowed"),
        lambda server: f"no PBS server {server} for this host: check the name, and acl_hosts on the server",
    ),
    _Cause(
        frozenset({"15031"}),
        ("communication failure", "no route to host", "timed out", "network is unreachable"),
        lambda server: f"the PBS server on {server} does not answer: check that the host is up and port 15001 is open",
    ),
    _Cause(
        frozenset({"15007", "15019"}),
        ("unauthorized request", "no permission", "invalid credential"),
        lambda server: (
            f"the PBS server on {server} does not authorise this user: check that pbs_iff is setuid root here,"
            " and the user's account on the server"
        ),
    ),
    _Cause(
        frozenset({"15033", "15034"}),
        ("no free connections",),
        lambda server: f"the PBS server on {server} has no free connection: try again in a minute",
    ),
)


def explain(text: str, server: str) -> str:
    """The text with what is wrong and what to do in front, if it says that the server cannot be reached; else empty."""
    if not _CONNECTING.search(text):
        return ""
    number = _NUMBER.search(text)
    lowered = text.lower()
    for cause in _CAUSES:
        if (number and number[1] in cause.numbers) or any(words in lowered for words in cause.words):
            return f"{cause.sentence(server or 'this host')} · PBS: {text}"
    return ""
