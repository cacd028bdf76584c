"""How hard the laws are tried: few examples by default, many with ``--hypothesis-profile=deep``."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "laws", max_examples=75, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("deep", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("laws")
