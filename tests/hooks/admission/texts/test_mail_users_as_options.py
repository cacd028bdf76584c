"""A mail address that the server's mail program would take for an option is refused, wherever it is among others."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hooks.admission.texts.mail_users_as_options import refuse_mail_options


@pytest.mark.parametrize(
    "addresses",
    ["-X/home/alice/lnk", "-", "--", " -oQ/tmp", "\t-X/x", "bob,-X/etc/x", "bob, -X", "bob\n-X", "bob -X", "b\\,-X"],
)
def test_an_address_that_begins_with_a_hyphen_is_refused(addresses: str) -> None:
    assert "begins with -, which the server's mail program" in refuse_mail_options(
        SimpleNamespace(Mail_Users=addresses)
    )


@pytest.mark.parametrize("addresses", [None, "", "bob", "anna-lena@some-site.org", "bob, anna@x.org", "a+b@x,c_-d@y"])
def test_any_other_addresses_pass(addresses: str | None) -> None:
    assert not refuse_mail_options(SimpleNamespace(Mail_Users=addresses))
    assert not refuse_mail_options(SimpleNamespace())


def test_the_address_is_named_and_cut() -> None:
    refusal = refuse_mail_options(SimpleNamespace(Mail_Users="bob,-X" + "y" * 1000))
    assert "(-M) -X" in refusal
    assert len(refusal) < 200
