"""A published forecast is read back as it was written; other data is no forecast."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hooks.forecast.published_forecast import LATER, Estimate, PublishedForecast

SOON = Estimate(1100.0, 1200.0, 3600.0, "1.server", 0.5, ("n1",), 1)
PUBLISHED = PublishedForecast(1000.0, 9000.0, 30, 30, 12, 1.5, {"2.server": SOON, "3.server": LATER}, {"4.server": "x"})


def read_back(data: Any) -> PublishedForecast | None:
    return PublishedForecast.from_data(json.loads(json.dumps(data)))


def test_it_is_read_back_as_it_was_published() -> None:
    assert read_back(PUBLISHED.to_data()) == PUBLISHED


@pytest.mark.parametrize("data", [None, [], {}, {"version": 2}, {"version": 1}, {"version": 1, "time_s": True}])
def test_other_data_is_no_forecast(data: Any) -> None:
    assert read_back(data) is None


def test_rows_that_make_no_sense_are_left_out_and_texts_are_made_printable() -> None:
    data = PUBLISHED.to_data()
    data["jobs"] = {
        "5\x1b[2J": [1, 2, 3, "x\x1b]0;title\x07", 0.5, ["n\n1"] * 9, 9],
        "6": [1, 2],
        "7": ["soon", 2, 3, "", 0, [], 0],
        "8": [1, 2, 1e300, "", 0, [], 0],
        "9": [1, 2, 3, "", 0, "n1", 1],
    }
    data["later"], data["unknown"] = 7, {"10": "\x1b[31m" + "x" * 9999, "11": 5}
    read = read_back(data)
    assert read is not None
    assert list(read.jobs) == ["5\\x1b[2J"]
    estimate = read.jobs["5\\x1b[2J"]
    assert estimate.after == "x\\x1b]0;title\\x07"
    assert estimate.vnodes == ("n\\n1",) * 4
    assert list(read.unknown) == ["10"]
    assert read.unknown["10"].startswith("\\x1b[31mxxx")
    assert len(read.unknown["10"]) < 400
