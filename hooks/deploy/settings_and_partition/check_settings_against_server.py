"""Checks valid settings against what only the server and its host know: the resources whose quotas count, the group of
the journal, and the program for alerts."""

from __future__ import annotations

import grp
from collections.abc import Collection, Iterator, Mapping

from hooks.deploy.read_installed_server_state import Qmgr, ask
from hooks.pbs.files_and_output.only_root_can_write import find_fault
from hooks.pbs.files_and_output.parse_qmgr_list import parse_list
from policy.model.job_request import DEFAULT_CONSUMABLES
from policy.settings.site_settings import Settings

BUILT_IN = DEFAULT_CONSUMABLES - {"ngpus"}
"""The consumables of every server; ``ngpus`` is made by sites."""


def find_unfit(qmgr: Qmgr, settings: Settings) -> str:
    """Why no quota on a resource that ``quota.counted`` names could ever bind, which would switch the policy off; else
    empty. Raises :class:`hooks.deploy.read_installed_server_state.DeployError`."""
    if not settings.quota.counted:
        return ""
    resources = parse_list(ask(qmgr, "list resource"))
    return "; ".join(_uncountable(settings.quota.counted, resources))


def _uncountable(counted: Collection[str], resources: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    consumables = BUILT_IN | {name for name, texts in resources.items() if set(texts.get("flag", "")) & set("nf")}
    for name in counted:
        if name in consumables:
            continue
        what = "is no consumable resource" if name in resources else "is no resource of the server"
        allowed = ", ".join(sorted(consumables))
        yield f"quota.counted = {name!r}: {name} {what}, so its quotas would count nothing; allowed are {allowed}"


def find_missing(settings: Settings) -> Iterator[str]:
    """What the settings name and this host lacks, or has not as passes need it; a sentence each."""
    group, command = settings.server.journal_group, settings.alerts.command
    if group:
        try:
            grp.getgrnam(group)
        except (KeyError, ValueError):
            yield f"server.journal_group = {group!r}: no such group on this host, so root alone may read the journal"
    fault = find_fault(command[0]) if command else ""
    if fault:
        yield f"alerts.command: {fault}; passes would not run it"
