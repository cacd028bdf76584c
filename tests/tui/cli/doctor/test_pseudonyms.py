"""Pseudonyms: which words of a text are names, and which are not."""

from __future__ import annotations

import pytest

from tui.cli.doctor.pseudonyms import Pseudonyms


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("u:x.y would use 4", "u:user1 would use 4"),
        ("[u:PBS_GENERIC=2],[p:_pbs_project_default=1]", "[u:PBS_GENERIC=2],[p:_pbs_project_default=1]"),
        ("root@hpc1", "root@hpc1"),
        ("al@hpc1 and al, not also or al-1", "user1@hpc1 and user1, not also or al-1"),
        ('["u:john doe"=4],["p:secret project"=2]', '["u:user1"=4],["p:project1"=2]'),
        ("[p:ml:vision=1],[u:john doe=2]", "[p:project1=1],[u:user1=2]"),
        ("no names", "no names"),
    ],
)
def test_names_are_found_where_a_text_marks_them(text: str, replaced: str) -> None:
    assert Pseudonyms().replace(text) == replaced
