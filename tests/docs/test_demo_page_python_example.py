"""docs/demo.md: what it does from Python works, line by line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = (Path(__file__).parents[2] / "docs" / "demo.md").read_text(encoding="utf-8")


def test_the_example_from_python_runs() -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, "docs/demo.md", "exec"), names)  # noqa: S102 - the page is the project's own
    assert names["reply"].ok, names["reply"].text
    changed = names["demo"].read("queue", "workq")
    assert "[u:carol=512]" in changed["max_run_res_soft.ncpus"]
    assert names["status"].jobs
