"""Refuses a job or a reservation whose mail addresses the mail program would take for options, in every mode.

PBS's server runs ``sendmail -f FROM ADDRESSES`` as root, without ``--``. If the addresses begin with ``-``, they are an
option of root's program: ``-X FILE`` of ``sendmail`` appends to any file. The other addresses are refused as well, as a
site's own mail program may split that argument.
"""

from __future__ import annotations

import re
from typing import Any

from hooks.pbs.job_attributes.read_attribute import read_attribute

_OPTION = re.compile(r"(?:^|[\s,])-\S*")


def refuse_mail_options(subject: Any) -> str:
    """Why an event's job or reservation is refused; empty if none of its mail addresses begins with ``-``."""
    found = _OPTION.search(read_attribute(subject, "Mail_Users"))
    if found is None:
        return ""
    address = found.group().strip(", \t\n\r\v\f")[:40]
    return f"its mail address (-M) {address} begins with -, which the server's mail program would take for an option"
