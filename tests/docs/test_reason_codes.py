"""docs/policies.md explains every reason that a plan can give, and none that it cannot."""

from __future__ import annotations

import re
from pathlib import Path

from policy.reasons import CODES

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")


def test_every_code_is_explained_once() -> None:
    _, _, reasons = PAGE.partition("\n## Reasons\n")
    documented = re.findall(r"^\| `([a-z-]+)` \|[^|]+\|[^|]+\|$", reasons, re.MULTILINE)
    assert sorted(documented) == sorted(CODES)


def test_headings_cited_by_the_code_are_there() -> None:
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    for cited in ("Together, in one pass", "What must always hold", "P1", "P3"):
        assert any(heading == cited or heading.startswith(f"{cited}:") for heading in headings), cited
