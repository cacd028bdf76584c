"""One release number: the package, the hooks' files, the README's first page and the changelog name the same."""

from __future__ import annotations

from pathlib import Path

from release.check_release import find_version_problems

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_same_everywhere_and_the_changelog_begins_with_it() -> None:
    assert find_version_problems(ROOT) == []
