"""One release number: the package, the hooks' files, the README's first page and the changelog name the same."""

from __future__ import annotations

import re
from pathlib import Path

from hooks.deploy.bundle_hook import VERSION

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_same_everywhere() -> None:
    (package,) = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)
    assert package == VERSION
    assert f"Version {VERSION}" in (ROOT / "README.md").read_text()


def test_the_changelog_begins_with_this_version_and_dates_the_others() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    release, _, unfinished = VERSION.partition(".dev")
    wanted = r"\[Unreleased\]" if unfinished else rf"\[{re.escape(release)}\] - \d{{4}}-\d\d-\d\d"
    assert re.fullmatch(wanted, headings[0])
    for heading in headings[1:]:
        assert re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading)
