"""Names of hosts: the same host with its domain and without it."""

from __future__ import annotations

import pytest

from policy.model.host_names import is_host, is_host_among

CASES = [
    ("n1", "n1", True),
    ("n1", "n1.example.org", True),
    ("n1.example.org", "n1", True),
    ("n1.example.org", "n1.example.org", True),
    ("n1.example.org", "n1.other.org", False),
    ("n1", "n12", False),
    ("n12.example.org", "n1", False),
]


@pytest.mark.parametrize(("name", "wanted", "expected"), CASES)
def test_a_host_has_the_same_name_with_its_domain_and_without_it(name: str, wanted: str, expected: bool) -> None:
    assert is_host(name, wanted) is expected
    assert is_host_among({"m7", name}, wanted) is expected


def test_without_names_no_host_is_among_them() -> None:
    assert not is_host_among(frozenset(), "n1")
