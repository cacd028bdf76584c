"""Who is a manager or operator: PBS's own rule, so that no hook gives a user more than PBS does, or less."""

from __future__ import annotations

import pytest

from hooks.pbs.managers_and_operators import is_privileged


@pytest.mark.parametrize(
    ("user", "host", "managers", "operators", "so"),
    [
        ("root", "server.site", "", "", True),
        ("root", "SERVER.site", "anna@*", "", True),
        ("root", "localhost", "", "", True),
        ("root", "n1.site", "", "", False),
        ("root", "n1.site", "anna@login.site", "olga@*", False),
        ("root", "n1.site", "root@*", "", True),
        ("root", "n1.site", "root@*.site", "", True),
        ("root", "n1.site", "root@*.lab", "", False),
        ("root", "n1.site", "", "root@n1.site", True),
        ("rooter", "server.site", "root@*", "", False),
        ("anna", "login.site", "anna@login.site", "", True),
        ("anna", "LOGIN.site", "anna@login.SITE", "", True),
        ("Anna", "login.site", "anna@login.site", "", False),
        ("anna", "n1.site", "anna@login.site", "", False),
        ("anna", "n1.site", "anna", "", True),
        ("olga", "n1.site", "anna@*, olga@*", "", True),
        ("olga", "n1.site", "", "anna@*,+olga@*", True),
        ("olga", "n1.lab", "-olga@*.lab,olga@*", "", False),
        ("olga", "n1.site", "-olga@*.lab,olga@*", "", True),
        ("olga", "n1.lab", "-olga@*", "olga@*", True),
        ("o*", "n1.lab", "olga@*", "", False),
        ("", "", "", ",", False),
    ],
)
def test_it_is_as_pbs_decides(user: str, host: str, managers: str, operators: str, so: bool) -> None:
    assert is_privileged(user, host, "server.site", managers, operators) is so
