"""What all tests of migration share: the account that runs them counts as that of a person."""

from __future__ import annotations

import pytest

from tests.migration.fake_user_account import find_account


@pytest.fixture(autouse=True)
def _account_of_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pwd.getpwnam", find_account)
