"""What to do about a Torque server that cannot be reached, in one sentence, from what its library or programs say."""

from __future__ import annotations

import re

_CONNECTING = re.compile(
    r"cannot connect|cannot read|Unauthorized|trqauthd|Communication failure|time.?out", re.IGNORECASE
)
_CAUSES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"trqauthd|15137|15096|15133|authd", re.IGNORECASE),
        "the Torque server on {server} cannot check who this user is: start trqauthd on this host",
    ),
    (
        re.compile(r"15007|15019|15020|Unauthorized|invalid credential", re.IGNORECASE),
        "the Torque server on {server} does not authorise this user: check trqauthd here, and acl_hosts on the server",
    ),
    (
        re.compile(r"15008|unknown host|cannot resolve", re.IGNORECASE),
        "no Torque server {server} for this host: check server_name in Torque's home",
    ),
    (
        re.compile(r"15085|15033|time.?out", re.IGNORECASE),
        "the Torque server on {server} did not answer in time: it may be busy, or a MoM that it waits for is silent",
    ),
    (
        re.compile(r"15034|15010|111|refused|Communication failure|cannot connect", re.IGNORECASE),
        "the Torque server on {server} is down or refuses connections: start pbs_server there",
    ),
)


def explain(text: str, server: str) -> str:
    """The text with what is wrong and what to do in front, if it says that the server cannot be reached; else empty."""
    if not _CONNECTING.search(text):
        return ""
    for cause, sentence in _CAUSES:
        if cause.search(text):
            return f"{sentence.format(server=server or 'this host')} · Torque: {text}"
    return ""
