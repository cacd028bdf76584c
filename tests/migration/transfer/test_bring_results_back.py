"""Which results go back, and that nothing counts as there before the second look says so."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, cast

import pytest

from migration.as_user.user_files.folder_tree_listing import CLOSED, Entry
from migration.transfer.bring_results_back import bring_back
from migration.transfer.ssh_and_rsync_to_source import Connection, TransferError
from migration.transfer.upload_manifest_and_changed_files import (
    Manifest,
    find_closed,
    find_results,
    read_manifest,
)

UPLOADED: Manifest = {"in": Entry("in", "f", 3, 1), "l": Entry("l", "l", target="x"), "d": Entry("d", "d")}


def entries(*given: Entry) -> Manifest:
    return {entry.path: entry for entry in given}


def test_what_is_new_or_differs_goes_back_and_the_services_files_stay() -> None:
    now = entries(
        *UPLOADED.values(), Entry("in", "f", 3, 2), Entry("new/r", "f", 1, 1), Entry("big.tmp", "f", 1, 1),
        Entry(".mg.a.1.exit", "f", 2, 1), Entry("pipe", "o"),
    )  # fmt: skip
    assert [one.path for one in find_results(now, UPLOADED, "a.1", ["*.tmp"])] == ["in", "new/r"]


def test_results_that_stay_there_are_named_as_rsync_reads_patterns() -> None:
    now = entries(*(Entry(path, "f", 1, 1) for path in ("big.dat", "out/result.dat", "tmp/x")), Entry("tmp", "d"))

    def go_back(*nostage: str) -> list[str]:
        return [one.path for one in find_results(now, {}, "a.1", nostage)]

    assert go_back("/*.dat") == ["out/result.dat", "tmp/x", "tmp"]
    assert go_back("tmp/*") == ["big.dat", "out/result.dat", "tmp"]
    assert go_back("out/*.dat", "tmp/") == ["big.dat"]


def test_what_the_job_has_closed_to_its_user_stays_there_and_is_named() -> None:
    now = entries(
        Entry("in", CLOSED, 3, 1), Entry("l", "l", target="x"), Entry("d", CLOSED), Entry("new", CLOSED, 1, 1),
        Entry("r", "f", 1, 1), Entry("big.tmp", CLOSED, 1, 1),
    )  # fmt: skip
    assert [one.path for one in find_results(now, UPLOADED, "a.1", ["*.tmp"])] == ["r"]
    assert find_closed(now, UPLOADED, "a.1", ["*.tmp"]) == ["d", "new"], "the content of in has come from the source"


def test_of_a_folder_that_never_arrived_whole_only_the_logs_go_back() -> None:
    now = entries(Entry("in", "f", 1, 1), Entry("mg-build.log", "f", 1, 1), Entry("mg.a.1.out", "f", 1, 1))
    assert [one.path for one in find_results(now, None, "a.1", [])] == ["mg-build.log", "mg.a.1.out"]


class FakeSource:
    """Answers as a source does; ``lost`` is what the second look still finds to do, ``others`` are files of the same
    size and time with another content."""

    def __init__(
        self,
        there: Iterable[Entry] = (),
        kept: Iterable[tuple[str, str]] = (),
        lost: Iterable[str] = (),
        others: Iterable[str] = (),
    ) -> None:
        self.there, self.kept, self.lost, self.others = list(there), list(kept), list(lost), set(others)
        self.pushed: list[str] = []
        self.looked: list[str] = []
        self.read: list[str] = []

    def ask(self, verb: str, lines: Iterable[str] = ()) -> bytes:
        list(lines)
        if verb == "state":
            return "".join(json.dumps(entry) + "\n" for entry in self.there).encode()
        return json.dumps(self.kept).encode()

    def push(self, folder: str, paths: Iterable[str], word: str, timeout_s: float) -> int:
        assert word == "stage/"
        self.pushed = list(paths)
        return 9

    def find_unlike(
        self, folder: str, paths: Iterable[str], timeout_s: float, options: Sequence[str] = ()
    ) -> list[str]:
        if options:
            assert options == ("--checksum",)
            self.read = list(paths)
            return [f"<fc........ {path}" for path in self.read if path in self.others]
        self.looked = list(paths)
        return self.lost


RESULTS = [Entry("in", "f", 3, 2), Entry("r", "f", 1, 1), Entry("edited", "f", 1, 1)]


def bring(source: FakeSource) -> Any:
    return bring_back(cast(Connection, source), "/l", RESULTS, UPLOADED, 60)


def test_only_what_is_missing_is_copied_and_all_but_what_was_kept_is_proven() -> None:
    source = FakeSource(there=[RESULTS[1], Entry("edited", "f", 7, 7)], kept=[("edited", "edited.mg-a.1")])
    returned = bring(source)
    assert source.pushed == ["in", "edited"]
    assert source.looked == ["in", "r"]
    assert source.read == ["r"]
    assert (returned.sent_bytes, returned.kept) == (9, (("edited", "edited.mg-a.1"),))


def test_a_file_of_the_same_size_and_time_with_another_content_is_no_result_that_is_there() -> None:
    source = FakeSource(there=RESULTS, others=["r"], kept=[("r", "r.mg-a.1")])
    assert bring(source).kept == (("r", "r.mg-a.1"),)
    assert source.pushed == ["in", "r", "edited"]
    assert source.looked == ["in", "edited"]


def test_what_is_there_with_its_content_is_not_copied_again() -> None:
    source = FakeSource(there=RESULTS)
    assert bring(source).sent_bytes == 0
    assert (source.read, source.pushed) == (["in", "r", "edited"], [])


def test_a_second_look_that_finds_work_is_no_end() -> None:
    with pytest.raises(TransferError, match="1 of 3 results are not at the source yet"):
        bring(FakeSource(lost=["<f+++++++++ r"]))


def test_what_the_source_kept_is_a_result_or_a_folder_of_one() -> None:
    results = [Entry("d/r", "f", 1, 1)]
    for path in ("d", "d/r"):
        kept = bring_back(cast(Connection, FakeSource(kept=[(path, f"{path}.mg-a.1")])), "/l", results, {}, 60).kept
        assert kept == ((path, f"{path}.mg-a.1"),)
    for path in ("", ".", "d/", "d/other", "in", "/d", "d/../d"):
        with pytest.raises(TransferError, match="the source's answer cannot be read"):
            bring_back(cast(Connection, FakeSource(kept=[(path, "x")])), "/l", results, {}, 60)


def test_a_manifest_reads_what_was_printed() -> None:
    assert read_manifest(b'["a\\udcff", "f", 1, 2, ""]\n') == {"a\udcff": Entry("a\udcff", "f", 1, 2)}
    printed = [
        Entry("d", "d"),
        Entry("l", "l", target="/x"),
        Entry("old", "f", 0, -1),
        Entry("c", CLOSED, 2**62, 10**27),
    ]
    assert read_manifest("".join(json.dumps(entry) + "\n" for entry in printed).encode()) == entries(*printed)


def test_a_manifest_of_a_newer_version_is_read_without_what_that_has_added() -> None:
    assert read_manifest(b'["a", "f", 1, 2, "", "0644", null]\n["b", "d"]\n') == entries(
        Entry("a", "f", 1, 2), Entry("b", "d")
    )


@pytest.mark.parametrize(
    "line",
    [
        "5", "null", "{}", '"ab"', "[]", '["a"]', '[["a"], "f"]', '[5, "f"]', '["a", "x"]', '["a", []]', '["a", null]',
        '["", "f"]', '["/a", "f"]', '["a/../b", "f"]', '["a\\u0000", "f"]', '["\\ud800", "f"]', '["a", "f", -1]',
        '["a", "f", true]', '["a", "f", 1.0]', '["a", "f", 9223372036854775808]', '["a", "f", "1"]',
        '["a", "f", 1, null]', '["a", "f", 1, 1e999]', '["a", "f", 1, NaN]',
        '["a", "f", 1, 1' + "0" * 40 + "]", '["a", "l", 0, 0, 5]',
        '["a", "l", 0, 0, "\\ud800"]', "[" * 50_000, '["' + "a" * 70_000 + '", "f"]', "x", '["a", "f"', "\udcff",
    ],
    ids=range(32),
)  # fmt: skip
def test_a_line_that_is_no_entry_is_a_failed_transfer_and_no_other_error(line: str) -> None:
    with pytest.raises(TransferError, match="the list of the job's files"):
        read_manifest(line.encode("utf-8", "surrogateescape") + b"\n")
