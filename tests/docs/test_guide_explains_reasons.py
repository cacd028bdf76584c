"""docs/guide.md says of every reason what to do, each once, and shows pictures that are there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from policy.reasons.reason_names import ReasonCode

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")


def test_every_reason_is_explained_once_in_plain_words() -> None:
    _, _, after = PAGE.partition("\n## Reading reasons\n")
    rows = re.findall(r"^\| [^|`]+ \| (`[^|]+) \| [^|]+ \|$", after.partition("\n## ")[0], re.MULTILINE)
    told = re.findall(r"`([a-z-]+)`", " ".join(rows))
    assert sorted(told) == sorted(get_args(ReasonCode))


def test_it_is_linked_from_the_first_page_and_the_index() -> None:
    assert "(docs/guide.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(guide.md)" in (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
