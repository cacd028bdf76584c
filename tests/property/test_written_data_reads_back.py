"""What is written down reads back as what it was."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from policy import Ledger, Settings, parse_request
from policy.model.allocation import Allocation, parse_exec_vnode
from policy.model.limit_attributes import Limits, parse_limits, show_limits
from policy.settings.site_settings import find_conflicts
from tests.property.strategies.cluster_strategies import places, selects
from tests.property.strategies.ledger_between_passes_strategies import allocations, any_ledgers
from tests.property.strategies.settings_strategies import any_limits, written_settings


@given(any_ledgers())
def test_a_ledger_survives_json(ledger: Ledger) -> None:
    assert Ledger.from_data(json.loads(json.dumps(ledger.to_data()))) == ledger


@given(written_settings().filter(lambda chosen: not list(find_conflicts(chosen))))
def test_settings_survive_json(settings: Settings) -> None:
    assert Settings.from_data(json.loads(json.dumps(settings.to_data())), "test") == settings


@given(any_limits())
def test_limits_are_shown_as_they_are_read(limits: Limits) -> None:
    assert parse_limits(show_limits(limits), "test") == limits


@given(selects(), places())
def test_a_select_is_shown_as_it_is_read(select: str, place: str) -> None:
    request = parse_request(select, place)
    assert parse_request(request.select, place) == request


@given(st.sampled_from(("a b", "a+b", "a:b", 'a"b', "it's", "a,b")))
def test_a_wish_with_separators_is_shown_in_quotes(value: str) -> None:
    quote = "'" if '"' in value else '"'
    request = parse_request(f"1:ncpus=2:app={quote}{value}{quote}+1:ncpus=1")
    assert dict(request.chunks[0].wants) == {"app": value}
    assert parse_request(request.select) == request


@given(allocations())
def test_an_exec_vnode_is_shown_as_it_is_read(allocation: Allocation) -> None:
    assert parse_exec_vnode(allocation.exec_vnode()) == allocation
