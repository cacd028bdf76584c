"""Turns the error of a Torque server that cannot be reached into one sentence with what to do.

Its numbers are Torque's own (``pbs_error_db.h``) or the system's; programs print them with words, the library without.
"""

from __future__ import annotations

import re

_CONNECTING = re.compile(r"cannot connect|did not answer|\((?:15033|15085|15096)\)|error (?:15033|15085|15096)\b")
_LONGEST = 300
_CAUSES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"15137|trqauthd"),
        "the Torque server on {server} cannot be told who this user is: start trqauthd on this host",
    ),
    (
        re.compile(r"Connection refused|error[ =]111\b|errno=111\b"),
        "the Torque server on {server} is down or refuses connections: start pbs_server there",
    ),
    (
        re.compile(r"15010|[Cc]an ?not resolve"),
        "no Torque server {server} for this host: check the name, server_name in Torque's home, and acl_hosts there",
    ),
    (
        re.compile(r"15096"),
        "the Torque server on {server} does not answer: it hangs, its host is down, or trqauthd does not run here",
    ),
    (
        re.compile(r"15033|15085|did not answer"),
        "the Torque server on {server} did not answer in time: it is busy, or waits for a MoM that is silent",
    ),
)


def explain(text: str, server: str) -> str:
    """The text after a sentence with what is wrong and what to do, if it is about an unreachable server; else empty."""
    if not _CONNECTING.search(text):
        return ""
    # Programs say first, once for each try, what the last sentence says too.
    last = text[max(0, text.rfind("cannot connect")) :] if "cannot connect" in text else text
    for cause, sentence in _CAUSES:
        if cause.search(text):
            return f"{sentence.format(server=server or 'this host')} · Torque: {last[:_LONGEST]}"
    return ""
