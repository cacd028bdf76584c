"""Quotas of the whole server for several owners: each change is verified as on a queue, though
PBS's programs print each entry of a server's limit apart.
"""

from __future__ import annotations

from tests.hooks.deploy_on_testbed import deploy_and_drive, quick_settings
from tests.pbs.cluster import PbsCluster
from tests.pbs.console.test_console_backend_and_commands import pbsteer

ENTRIES = {
    "alice": "u:alice",
    "bob": "u:bob",
    "g:bio": "g:bio",
    "p:PBS_GENERIC": "p:PBS_GENERIC",
    "o:PBS_ALL": "o:PBS_ALL",
}


def in_qmgr(pbs: PbsCluster) -> set[str]:
    """The server's entries of soft limits on cores."""
    lines = pbs.qmgr("print server").splitlines()
    return {line.partition("= ")[2] for line in lines if line.startswith("set server max_run_res_soft.ncpus")}


def test_each_change_of_one_entry_beside_others_is_verified(pbs: PbsCluster) -> None:
    deploy_and_drive(pbs, quick_settings())
    for number, who in enumerate(ENTRIES, start=5):
        assert "verified" in pbsteer(pbs, "quota", "set", "@server", who, str(number), "--yes"), who
    for number, who in enumerate(ENTRIES, start=11):
        assert "verified" in pbsteer(pbs, "quota", "set", "@server", who, str(number), "--yes"), who
    assert in_qmgr(pbs) == {f"[{entry}={number}]" for number, entry in enumerate(ENTRIES.values(), start=11)}
    assert "verified" in pbsteer(pbs, "quota", "set", "@server", "alice", "none", "--yes")
    assert "[u:alice=11]" not in in_qmgr(pbs)
