"""The threat model names the test that shows each mitigation: every one is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "security.md"
_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
NAMED = sorted(set(_TEST.findall(PAGE.read_text(encoding="utf-8"))))
ROWS = PAGE.read_text(encoding="utf-8").partition("| who | wants |")[2].partition("\n\n")[0].splitlines()[2:]


@pytest.mark.parametrize(("path", "name"), NAMED, ids=[name or path for path, name in NAMED])
def test_a_named_test_exists(path: str, name: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    assert not name or re.search(rf"^def {name}\(", text, re.MULTILINE)


def test_every_threat_but_the_supplier_s_names_a_test() -> None:
    assert len(NAMED) > 20
    assert [row.split("|")[1].strip() for row in ROWS if not _TEST.search(row)] == ["supplier"]
