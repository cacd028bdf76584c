"""How hard the laws are tried.

By default few examples, always the same ones. ``--hypothesis-profile=thorough`` (with ``tests/property`` named on the
command line) or ``LAWS=thorough`` in the environment tries thousands of new ones for each law and takes an hour or
more: run it in pieces, a file or a law (``-k``) at a time. ``LAWS=first`` does the same without making a failing
example small, which takes long where a law is about whole lives.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("laws", max_examples=40, deadline=None, derandomize=True, suppress_health_check=_SLOW)
settings.register_profile(
    "thorough", max_examples=3000, deadline=None, suppress_health_check=_SLOW, print_blob=True, database=None
)
settings.register_profile("first", settings.get_profile("thorough"), phases=[Phase.generate])
settings.load_profile(os.environ.get("LAWS", "laws"))
