"""Where the console draws with ASCII alone without being asked."""

from __future__ import annotations

import pytest

from tui.cli.run_console import speaks_unicode


@pytest.mark.parametrize(
    ("environment", "encoding", "unicode"),
    [
        ({"LANG": "en_US.UTF-8"}, "utf-8", True),
        ({"LANG": "C.UTF-8"}, "utf-8", True),
        ({"LC_CTYPE": "C.UTF-8"}, "utf-8", True),
        ({}, "utf-8", True),
        ({"LC_ALL": "C"}, "utf-8", False),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, "utf-8", False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "utf-8", False),
        ({"LANG": "en_US.ISO-8859-1"}, "iso8859-1", False),
        ({"LC_ALL": "de_DE.ISO-8859-15@euro"}, "utf-8", False),
        ({"LANG": "de_DE@euro"}, "utf-8", True),
        ({"LANG": "en_US.UTF-8", "TERM": "linux"}, "utf-8", False),
        ({"LANG": "en_US.UTF-8"}, None, False),
    ],
)
def test_the_locale_that_was_chosen_decides(environment: dict[str, str], encoding: str | None, unicode: bool) -> None:
    assert speaks_unicode(environment, encoding) is unicode
