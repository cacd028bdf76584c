"""Which starts are kept apart where no pass has said whether they are stripes."""

from __future__ import annotations

import pytest

from hooks.admission.start.refuse_striped_starts_too_close import is_stripe
from policy.settings.ranking_and_stripe_settings import StripeSettings

STRIPED, AUTO = StripeSettings(layout="stripe"), StripeSettings(layout="auto")
BY_APPLICATION = StripeSettings(applications=(("md", "pack"), ("wrf", "stripe")), layout="auto")


@pytest.mark.parametrize(
    ("asked", "settings", "stripe"),
    [
        ({}, StripeSettings(), False),
        ({}, STRIPED, True),
        ({"pbsteer_layout": "pack", "pbsteer_asked": "4:ncpus=1"}, STRIPED, False),
        ({"pbsteer_layout": "stripe"}, StripeSettings(), True),
        ({"pbsteer_width": "3"}, StripeSettings(), True),
        ({"pbsteer_asked": "4:ncpus=1"}, StripeSettings(), True),
        ({"pbsteer_layout": "auto", "pbsteer_width": "3"}, STRIPED, False),
        ({"pbsteer_layout": "auto", "pbsteer_asked": "4:ncpus=1"}, AUTO, True),
        ({}, AUTO, False),
        ({"pbsteer_app": "wrf"}, BY_APPLICATION, True),
        ({"pbsteer_app": "md"}, BY_APPLICATION, False),
    ],
)
def test_a_stripe_is_one_that_was_cut_or_that_job_or_site_ask_for(
    asked: dict[str, str], settings: StripeSettings, stripe: bool
) -> None:
    assert is_stripe(asked, 2, settings) is stripe
    assert not is_stripe(asked, 1, settings)
