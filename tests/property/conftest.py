"""How hard the laws are tried.

By default few examples, always the same ones. ``--hypothesis-profile=thorough`` (with ``tests/property`` named on the
command line) or ``LAWS=thorough`` in the environment tries thousands of new ones for each law and takes an hour or
more: run it in pieces, a file or a law (``-k``) at a time. ``LAWS=first`` does the same without making a failing
example small, which takes long where a law is about whole lives.

A law whose examples never come to one of its assertions says nothing, and fails: its strategy draws other situations
than those that it is about.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("laws", max_examples=40, deadline=None, derandomize=True, suppress_health_check=_SLOW)
settings.register_profile(
    "thorough", max_examples=3000, deadline=None, suppress_health_check=_SLOW, print_blob=True, database=None
)
settings.register_profile("first", settings.get_profile("thorough"), phases=[Phase.generate])
settings.load_profile(os.environ.get("LAWS", "laws"))

pytest.register_assert_rewrite("tests.property.oracles")


def _remove_compiled_before(changed_s: float) -> None:
    """Remove what pytest compiled of this folder before its options changed: it takes such files as they are, also
    where they do not report assertions."""
    for compiled in Path(__file__).parent.rglob("__pycache__/*-pytest-*.pyc"):
        with contextlib.suppress(FileNotFoundError):  # another worker may have removed it
            if compiled.stat().st_mtime < changed_s:
                compiled.unlink()


_remove_compiled_before((Path(__file__).parents[2] / "pyproject.toml").stat().st_mtime)

_ASSERTED = pytest.StashKey[bool]()


def pytest_assertion_pass(item: pytest.Item) -> None:
    item.stash[_ASSERTED] = True


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    result = yield
    if getattr(pyfuncitem.obj, "is_hypothesis_test", False) and not pyfuncitem.stash.get(_ASSERTED, False):
        pytest.fail("no example came to an assertion of this law", pytrace=False)
    return result
