"""Every relative link in the documentation leads to a file, and to a heading where it names one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    {*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("[a-z]*/README.md"), *ROOT.glob("[a-z]*/[a-z]*/README.md")}
)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The names that a page's headings are linked by: lower case, words joined by hyphens."""
    text = _CODE.sub(lambda match: match.group() if match.group()[:3] != "```" else "", page.read_text("utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        for target in _LINK.findall(_CODE.sub("", page.read_text("utf-8"))):
            if not re.match(r"[a-z]+:", target):
                yield page, target


@pytest.mark.parametrize(("page", "target"), [pytest.param(p, t, id=f"{p.relative_to(ROOT)}:{t}") for p, t in links()])
def test_link_leads_somewhere(page: Path, target: str) -> None:
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    assert file.exists(), f"{page.name} links to {target}"
    assert ROOT in file.parents, f"{page.name} links out of the project: {target}"
    if anchor:
        assert anchor in anchors(file), f"{page.name} links to {target}"


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    listed = set(_LINK.findall(index))
    assert {page.name for page in PAGES if page.parent == ROOT / "docs"} - {"README.md"} <= listed
