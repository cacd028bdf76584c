"""Which servers are in production: two files that add up, read strictly, and a rule on what has to be typed there."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy import Ledger, Settings
from tests.tui.scripted_server import PBS, a_server_status
from tui.config.production_servers_and_server_list import Site, SiteError, console_files, read_site
from tui.operations.confirmation.typed_confirmation import asked_for, is_confirmed
from tui.operations.operation_registry import BY_NAME, Order
from tui.state.cluster_view import see


def test_the_users_file_adds_to_the_sites_and_takes_nothing_away(tmp_path: Path) -> None:
    site, user = tmp_path / "site.toml", tmp_path / "user.toml"
    site.write_text('production = ["hpc1", "Hpc2.example.org"]')
    user.write_text('production = ["hpc3"]')
    read = read_site((site, user))
    assert [read.is_production(name) for name in ("hpc1", "HPC1.example.org", "hpc2.example.org", "hpc3", "test")] == [
        True,
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("listed", "server", "production"),
    [
        ("hpc1.example.org", "hpc1", True),
        ("Hpc1.example.org", "hpc1.example.org", True),
        ("hpc1", "hpc1.example.org", True),
        ("hpc1.example.org", "hpc1.example.com", False),
        ("hpc1.example.org", "hpc10", False),
        ("hpc1.example.org", "hpc", False),
    ],
)
def test_a_production_server_is_known_with_and_without_its_domain(listed: str, server: str, production: bool) -> None:
    assert Site(frozenset({listed.lower()})).is_production(server) is production


def test_files_that_are_not_there_say_nothing_and_a_star_means_all(tmp_path: Path) -> None:
    assert read_site((tmp_path / "nosuch.toml",)) == Site()
    path = tmp_path / "console.toml"
    path.write_text('production = ["*"]')
    assert read_site((path,)).is_production("any")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('production = "hpc1"', "production is 'hpc1'; allowed is a list of server names"),
        ("production = [1]", "allowed is a list of server names"),
        ('production = [""]', "allowed is a list of server names"),
        ('prodution = ["hpc1"]', "no setting 'prodution'; allowed is production"),
        ("production = [", "not TOML"),
    ],
)
def test_a_file_that_cannot_be_understood_is_an_error_that_names_it(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "console.toml"
    path.write_text(text)
    with pytest.raises(SiteError) as error:
        read_site((path,))
    assert str(error.value).startswith(f"{path}: ")
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("production = " + "[" * 100_000, "not TOML: it is nested too deeply"),
        ('\ufeffproduction = ["hpc1"]', "not TOML: it begins with a byte order mark (BOM); allowed is UTF-8 text"),
    ],
)
def test_a_file_nested_deeply_or_with_a_byte_order_mark_is_named(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "console.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SiteError) as error:
        read_site((path,))
    assert str(error.value).startswith(f"{path}: {says}")


def test_the_users_file_is_where_configuration_is() -> None:
    assert str(console_files({"HOME": "/home/eve"})[1]) == "/home/eve/.config/pbsteer/console.toml"
    assert str(console_files({"HOME": "/home/eve", "XDG_CONFIG_HOME": "/c"})[1]) == "/c/pbsteer/console.toml"


@pytest.mark.parametrize(
    ("verb", "names", "production", "asked"),
    [
        ("hold", ("13.hpc1",), False, ""),
        ("hold", ("13.hpc1",), True, "hpc1"),
        ("hold", ("13.hpc1", "14.hpc1"), False, "2"),
        ("hold", ("13.hpc1", "14.hpc1"), True, "2 hpc1"),
        ("delete", ("13.hpc1",), False, "13"),
        ("delete", ("13.hpc1",), True, "13 hpc1"),
        ("requeue", ("11.hpc1",), False, "11"),
        ("offline", ("v1",), False, ""),
    ],
)
def test_what_has_to_be_typed(verb: str, names: tuple[str, ...], production: bool, asked: str) -> None:
    cluster = see(a_server_status(), Settings(), Ledger(), 0.0)
    operation = BY_NAME[verb].operation(cluster, PBS, Order(names))
    assert asked_for(operation, "hpc1", Site(frozenset({"hpc1"} if production else ()))) == asked


def test_blanks_do_not_matter_in_what_is_typed() -> None:
    assert is_confirmed("2 hpc1", "  2   hpc1 ")
    assert not is_confirmed("2 hpc1", "2")
