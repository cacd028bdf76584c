"""``make lock`` has been run since the dependencies changed: each is pinned with a hash, in an allowed version."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEEDED = tuple(PROJECT["dependencies"])
EXTRA = tuple(text for group in PROJECT["optional-dependencies"].values() for text in group)
FILES = {"requirements.txt": NEEDED, "requirements-dev.txt": (*NEEDED, *EXTRA), "requirements-packages.txt": NEEDED}


def pins(file: str) -> Iterator[Requirement]:
    text = (ROOT / file).read_text(encoding="utf-8")
    for line in re.findall(r"^[a-z].*", text, re.M):
        assert line.endswith("\\"), f"{file}: {line} has no hash"
        yield Requirement(line.removesuffix("\\").strip())


@pytest.mark.parametrize("file", FILES)
def test_every_dependency_is_pinned_in_a_version_that_is_allowed(file: str) -> None:
    pinned: dict[str, list[Requirement]] = {}
    for pin in pins(file):
        pinned.setdefault(pin.name, []).append(pin)
    for needed in map(Requirement, FILES[file]):
        found = pinned.get(needed.name, [])
        assert found, f"{file} has no {needed.name}: make lock"
        for pin in found:
            ((_, version),) = ((each.operator, each.version) for each in pin.specifier)
            assert needed.specifier.contains(version), f"{file}: {pin} is not {needed}: make lock"


def test_what_is_shipped_is_what_is_tested() -> None:
    """``requirements-packages.txt`` is what the packages bring along, ``requirements-dev.txt`` what tests run with."""
    shipped, runs, tested = (
        {(pin.name, str(pin.specifier)) for pin in pins(f"requirements{which}.txt")}
        for which in ("-packages", "", "-dev")
    )
    assert shipped <= runs <= tested
