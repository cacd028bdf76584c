"""What the settings preset for an application: only what a job could ask for itself."""

from __future__ import annotations

from typing import Any

import pytest

from policy.settings.site_settings import Settings, SettingsError

WRF = {"rank": "memory", "min_mem": "48gb", "min_compute": 8, "min_network": "20", "max_temp": 72.5}


def test_presets_are_read_and_written_as_they_are() -> None:
    settings = Settings.from_data({"ranking": {"applications": {"wrf": WRF, "a b": {"rank": "compute"}}}}, "here")
    assert settings.ranking.applications[0] == ("a b", (("rank", "compute"),))
    assert dict(dict(settings.ranking.applications)["wrf"])["max_temp"] == "72.5"
    assert Settings.from_data(settings.to_data(), "there") == settings


@pytest.mark.parametrize(
    "presets",
    [
        3,
        {"wrf": "memory"},
        {"wrf": {}},
        {"": WRF},
        {"w" * 65: WRF},
        {"w\nrf": WRF},
        {"wrf": {"rank": "speed"}},
        {"wrf": {"min_mem": "much"}},
        {"wrf": {"min_mem": "0"}},
        {"wrf": {"max_temp": "-1"}},
        {"wrf": {"max_temp": "nan"}},
        {"wrf": {"min_compute": "1e99"}},
        {"wrf": {"layout": "pack"}},
    ],
)
def test_what_no_job_could_ask_for_is_refused(presets: Any) -> None:
    with pytest.raises(SettingsError, match=r"ranking\.applications = .*allowed is a table by application"):
        Settings.from_data({"ranking": {"applications": presets}}, "here")
