"""Quotas that add up to more than there is: told for users, groups and projects each by themselves."""

from __future__ import annotations

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import PBS, a_server_status
from tui.model.overcommitted_quotas import overcommitted
from tui.operations.by_target.soft_quota_priority_and_import_ops import set_quota
from tui.operations.status_edits_for_preview import edit_queue
from tui.pages.cluster.needs_attention import attention
from tui.state.cluster_view import see
from tui.text.screen_line import plain

CORES = 24
"""What the three vnodes of the picture have."""


def notes_on(quotas: str, partition: str = "") -> list[str]:
    server_status = edit_queue(a_server_status(), "workq", {"max_run_res_soft.ncpus": quotas, "partition": partition})
    return [plain(line) for line in overcommitted(server_status, "workq", "ncpus")]


@pytest.mark.parametrize(
    "quotas",
    [
        "",
        "[u:alice=16],[u:bob=8]",
        "[u:PBS_GENERIC=999]",
        "[o:PBS_ALL=999]",
        "[u:alice=20],[g:chem=20],[p:water=20]",
    ],
)
def test_what_fits_is_not_told(quotas: str) -> None:
    assert notes_on(quotas) == []


def test_each_kind_is_added_up_by_itself() -> None:
    assert notes_on("[u:alice=16],[u:bob=9],[g:chem=20],[g:bio=20],[u:PBS_GENERIC=4]") == [
        f"quotas of users in workq add up to 25 of {CORES} ncpus",
        f"quotas of groups in workq add up to 40 of {CORES} ncpus",
    ]


def test_only_the_vnodes_of_the_queues_partition_count() -> None:
    assert notes_on("[u:alice=1]", "east") == ["quotas of users in workq add up to 1 of 0 ncpus"]


def test_a_change_says_so_before_it_is_made_and_attention_afterwards() -> None:
    cluster = see(edit_queue(a_server_status(), "workq", {"max_run_res_soft.ncpus": ""}), Settings(), Ledger(), 0.1)
    assert set_quota(cluster, PBS, "workq", ("u", "alice"), CORES).notes == ()
    operation = set_quota(cluster, PBS, "workq", ("u", "alice"), CORES + 1)
    sentence = f"quotas of users in workq add up to 25 of {CORES} ncpus"
    assert [plain(line) for line in operation.notes] == [sentence]
    after = see(operation.edit(cluster.server_status), Settings(), Ledger(), 0.1)
    assert sentence in [plain(line) for line in attention(after)]
