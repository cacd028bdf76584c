"""The fields of a record in Torque's accounting log, as those of PBS's (TORQUE Administrator Guide, "Accounting
Records").

Torque writes no ``exec_vnode``: the cores of a run are the slots of its ``exec_host``. A request of ``ncpus`` gets one
slot (seen), so what a run held is taken and not what its job asked for.
"""

from __future__ import annotations

import re
from dataclasses import replace

from hooks.pbs.files_and_output.accounting_fields import Fields, read_fields
from torque.translate.exec_host_as_exec_vnode import count_slots

_EXEC_HOST = re.compile(rb" exec_host=([^ ]*)")


def is_torque_text(text: bytes) -> bool:
    """Whether the text of a record that has a start is Torque's: it names the owner with the host, and no vnodes."""
    return b" owner=" in text and b" exec_host=" in text and b" exec_vnode=" not in text


def read_torque_fields(text: bytes) -> Fields:
    """The fields of an S or E record of Torque's. Raises
    :class:`hooks.pbs.files_and_output.accounting_fields.SenselessError`."""
    fields = read_fields(text)
    found = _EXEC_HOST.search(text)
    slots: dict[str, int] = {}
    for part in (found[1] if found else b"").decode("utf-8", "backslashreplace").split("+"):
        host, _, indices = part.partition("/")
        slots[host] = slots.get(host, 0) + count_slots(indices)
    slots = {host: count for host, count in slots.items() if host and count}
    return replace(fields, cores=sum(slots.values()) or fields.cores, vnodes=tuple(slots))
