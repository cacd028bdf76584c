"""Edits of the settings file: one value, in the text as it is; what is written otherwise is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.backends.torque.settings_file import EditError, change_text, edit_settings_file

SITE = """\
# Our cluster.
[server]
mode = "observe"

[[queue]]
name = "batch"  # most jobs
quotas = "[g:chem=9],[u:alice=4]"
# The next one is for tests.
[[queue]]
name = "short"

[cluster]
quotas = "[u:PBS_GENERIC=64]"
"""
OF_BATCH = 'quotas = "[g:chem=9],[u:alice=4]"'


def change(text: str, queue: str, key: str, value: str) -> str:
    return change_text(text, queue, key, value, "site.toml")


def lines_changed(before: str, after: str) -> tuple[list[str], list[str]]:
    old, new = before.splitlines(), after.splitlines()
    return [line for line in old if line not in new], [line for line in new if line not in old]


@pytest.mark.parametrize(
    ("queue", "key", "value", "gone", "new"),
    [
        ("batch", "quotas.ncpus", "[u:alice=8]", OF_BATCH, 'quotas = "[g:chem=9],[u:alice=8]"'),
        ("batch", "quotas.ncpus", "[u:alice=none]", OF_BATCH, 'quotas = "[g:chem=9]"'),
        ("batch", "priorities", "[u:alice=5]", "", 'priorities = "[u:alice=5]"'),
        ("short", "quotas.ncpus", "[u:bob=2]", "", 'quotas = "[u:bob=2]"'),
        ("short", "quotas.ngpus", "[u:bob=2]", "", 'quotas = { "ngpus" = "[u:bob=2]" }'),
        ("short", "mode", "drive", "", 'mode = "drive"'),
        ("", "paused", 'say "no"', "", 'paused = "say \\"no\\""'),
        ("", "quotas.ncpus", "[u:PBS_GENERIC=32]", 'quotas = "[u:PBS_GENERIC=64]"', 'quotas = "[u:PBS_GENERIC=32]"'),
    ],
)  # fmt: skip
def test_one_line_changes_and_comments_stay(queue: str, key: str, value: str, gone: str, new: str) -> None:
    assert lines_changed(SITE, change(SITE, queue, key, value)) == ([gone] if gone else [], [new])


def test_a_line_goes_into_the_section_of_its_queue() -> None:
    changed = change(SITE, "short", "mode", "drive").splitlines()
    assert changed[changed.index('name = "short"') + 1] == 'mode = "drive"'


def test_a_queue_or_a_file_that_is_not_there_yet_is_made() -> None:
    assert change("", "batch", "quotas.ncpus", "[u:alice=8]") == '[[queue]]\nname = "batch"\nquotas = "[u:alice=8]"\n'
    assert change("", "", "quotas.ncpus", "[u:alice=8]") == '[cluster]\nquotas = "[u:alice=8]"\n'


def test_an_edit_and_its_undo_give_the_same_settings() -> None:
    there = change(SITE, "batch", "quotas.ncpus", "[u:alice=8],[u:bob=2]")
    assert change(there, "batch", "quotas.ncpus", "[u:alice=4],[u:bob=none]") == SITE


def test_a_second_resource_makes_a_table() -> None:
    changed = change(SITE, "batch", "quotas.ngpus", "[u:alice=1]")
    assert 'quotas = { "ncpus" = "[g:chem=9],[u:alice=4]", "ngpus" = "[u:alice=1]" }' in changed


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[queue]]\nname = 'batch'\n[queue.quotas]\nncpus = '[u:alice=4]'\n", "by hand"),
        ("queue = [{name = 'batch'}]\n", "by hand"),
        ("[[queue]]\nname = 'batch'\nquotas = '''\n[u:alice=4]'''\n", "by hand"),
        ("[[queue]\n", "is not TOML"),
    ],
)
def test_what_is_written_in_another_way_is_left_to_be_edited_by_hand(text: str, why: str) -> None:
    with pytest.raises(EditError, match=why):
        change(text, "batch", "quotas.ncpus", "[u:alice=8]")


@pytest.mark.parametrize("value", ["[u:alice=-1]", "[u:alice=x]", "[alice=1]", 'x"\nmode = "drive'])
def test_a_value_that_is_no_limit_is_refused(value: str) -> None:
    with pytest.raises(EditError):
        change(SITE, "batch", "quotas.ncpus", value)


def test_the_file_keeps_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(SITE)
    file.chmod(0o640)
    edit_settings_file([str(file), "batch", "mode", "drive"])
    assert (file.stat().st_mode & 0o777, 'mode = "drive"' in file.read_text()) == (0o640, True)
    assert [path.name for path in tmp_path.iterdir()] == ["policy.toml"]
