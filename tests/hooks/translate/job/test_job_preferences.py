"""What a job asks for is read word by word; what makes no sense is named, with what is allowed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.pbs.custom_resources import PREFERENCES, RESOURCES
from hooks.translate.job.job_preferences import NO_PREFERENCES, Preferences, read_preferences
from policy.model.job_preferences import DETAILS, LAYOUTS, RANK_MODES, Layout, RankPreference, Requirements
from policy.settings.ranking_and_stripe_settings import RankingSettings

PLAIN = RankingSettings()


def read(ranking: RankingSettings = PLAIN, /, **asked: str) -> Preferences:
    return read_preferences({f"pbsteer_{name}": text for name, text in asked.items()}, ranking)


def test_who_wishes_nothing_gets_nothing() -> None:
    assert read() == NO_PREFERENCES


@pytest.mark.parametrize("mode", RANK_MODES)
def test_every_mode_can_be_asked_for(mode: str) -> None:
    assert read(rank=mode).rank == RankPreference(mode)


def test_needs_are_read_in_their_units() -> None:
    wishes = read(rank="memory", min_mem="4gb", min_compute="12.5", min_network="3e2", max_temp="70")
    assert wishes.rank == RankPreference("memory", Requirements(4 << 20, 12.5, 300.0, 70.0))
    assert wishes.unread == ()


@pytest.mark.parametrize(("settings", "mode"), [("none", "composite"), ("network", "network")])
def test_needs_without_a_mode_are_ranked_by_the_sites_mode(settings: str, mode: str) -> None:
    assert read(RankingSettings(mode=settings), min_mem="1gb").rank == RankPreference(
        mode, Requirements(memory_kib=1 << 20)
    )


@pytest.mark.parametrize("detail", DETAILS)
def test_the_list_can_go_down_to_sockets_and_cores(detail: str) -> None:
    assert read(rank="memory", list=detail).rank == RankPreference("memory", Requirements(), detail)
    assert read(list=detail).rank == (
        None if detail == "vnode" else RankPreference("composite", Requirements(), detail)
    )


@pytest.mark.parametrize(("save", "saves"), [("requeue", False), ("signal", True), ("checkpoint", True)])
def test_every_way_to_save_can_be_asked_for(save: str, saves: bool) -> None:
    assert (read(save=save).save, read(save=save).saves) == (save, saves)


def test_a_way_to_save_that_there_is_not_is_named_with_those_there_are() -> None:
    assert read(save="loudly").unread == ("pbsteer_save is 'loudly'; allowed is requeue, signal, checkpoint",)


@pytest.mark.parametrize("kind", LAYOUTS)
def test_every_layout_can_be_asked_for(kind: str) -> None:
    assert read(layout=kind).layout == Layout(kind)


def test_a_width_or_a_span_alone_is_one_to_stripe_over() -> None:
    assert read(width="4").layout == Layout("stripe", 4)
    assert read(stripe_nodes="2").layout == Layout("stripe", None, 2)
    assert read(layout="pack", width="4").layout == Layout("pack", 4)


def test_the_application_and_whether_it_can_be_put_off_are_taken_as_they_are() -> None:
    wishes = read(app="wrf", deferrable="True")
    assert (wishes.application, wishes.deferrable) == ("wrf", True)
    assert read(app="x" * 64).application == "x" * 64
    assert read(app="x" * 65).unread, "another application may have the first 64 characters for its name"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rank", "fastest"), ("rank", "Memory"), ("layout", "striped"), ("min_mem", "lots"), ("min_mem", "0gb"),
        ("min_mem", "-1gb"), ("min_compute", "-3"), ("min_compute", "0"), ("min_network", "inf"), ("max_temp", "nan"),
        ("max_temp", "1e300"), ("width", "0"), ("width", "-4"), ("width", "2.5"), ("width", "²"), ("stripe_nodes", "x"),
        ("width", "9" * 5000),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_named_with_what_is_allowed(name: str, text: str) -> None:
    (sentence,) = read(**{name: text}).unread
    assert sentence.startswith(f"pbsteer_{name} is {text[:80]!r}; allowed is ")


@given(asked=st.dictionaries(st.sampled_from(sorted(RESOURCES)), st.text(max_size=12)))
def test_any_text_is_either_a_wish_or_is_named(asked: dict[str, str]) -> None:
    wishes = read_preferences(asked, PLAIN)
    assert len(wishes.unread) <= len(asked)
    assert all(any(sentence.startswith(f"{name} is ") for name in asked) for sentence in wishes.unread)


def test_users_can_ask_for_wishes_and_for_nothing_else() -> None:
    assert {name for name in RESOURCES if name not in PREFERENCES} == {
        "pbsteer_mode",
        "pbsteer_paused",
        "pbsteer_priority",
        "pbsteer_asked",
        "user_priority",
        "pbsteer_reading",
    }


PRESET = RankingSettings(applications=(("wrf", (("max_temp", "70"), ("min_mem", "4gb"), ("rank", "memory"))),))


def test_what_is_preset_for_an_application_holds_as_far_as_the_job_says_nothing() -> None:
    assert read(PRESET, app="wrf").rank == RankPreference("memory", Requirements(4 << 20, temperature=70.0))
    assert read(PRESET, app="wrf", rank="compute", min_mem="8gb").rank == RankPreference(
        "compute", Requirements(8 << 20, temperature=70.0)
    )
    assert read(PRESET, app="vasp").rank is None
    assert read(PRESET, width="2").rank is None
