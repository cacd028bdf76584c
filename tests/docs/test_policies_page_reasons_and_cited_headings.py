"""docs/policies.md explains every reason that a plan can give and none that it cannot, and has what the code cites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from policy.reasons.reason_names import ReasonCode

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
SOURCES = sorted(file for folder in ("policy", "hooks", "sim", "tui") for file in (ROOT / folder).rglob("*.py"))
_LONGEST = 80


def test_every_code_is_explained_once() -> None:
    _, _, reasons = PAGE.partition("\n## Reasons\n")
    documented = re.findall(r"^\| `([a-z-]+)` \|[^|]+\|[^|]+\|$", reasons, re.MULTILINE)
    assert sorted(documented) == sorted(get_args(ReasonCode))


def test_headings_cited_by_the_code_are_there() -> None:
    headings = re.findall(r"^##+ (.+)$", PAGE, re.MULTILINE)
    cited = [(file.name, name) for file in SOURCES for name in citations(file.read_text(encoding="utf-8"))]
    assert len({name for _, name in cited}) > 5
    for file_name, name in cited:
        assert any(heading == name or heading.startswith(f"{name}:") for heading in headings), f"{file_name}: {name}"


def citations(source: str) -> Iterator[str]:
    """The sections of the page that a source file names: ``docs/policies.md, P1 and P2`` or, in quotes, a heading."""
    for place in re.finditer(r"docs/policies\.md,\s", source):
        after = re.sub(r"\s+", " ", source[place.end() : place.end() + _LONGEST])
        quoted = re.match(r'"([^"]+)"', after)
        if quoted:
            yield quoted.group(1)
            continue
        numbers = re.match(r"P\d(?: (?:and|to) P\d)?", after)
        assert numbers, f"cites no section: {after}"
        yield from re.findall(r"P\d", numbers.group())
