"""A centre's specification: a testbed for each cluster, apart from each other, with one account for the service."""

from __future__ import annotations

import pytest

from container.centre.centre_spec import SERVICE, CentreSpec
from container.testbed_spec import TestbedError, network_of


def test_each_cluster_is_a_testbed_of_its_own_with_the_services_account() -> None:
    members = CentreSpec("site", ("pbs", "slurm")).members
    assert [(member.letter, member.testbed.name, member.testbed.scheduler) for member in members] == [
        ("a", "site-a", "pbs"),
        ("b", "site-b", "slurm"),
    ]
    assert all(SERVICE in member.testbed.users for member in members)


def test_servers_have_addresses_in_a_network_that_is_no_clusters() -> None:
    spec = CentreSpec("site", ("pbs",) * 10)
    networks = {network_of(member.testbed.name) for member in spec.members}
    assert len({member.address for member in spec.members}) == 10
    assert all(member.address.rpartition(".")[0] == network_of("site") not in networks for member in spec.members)


@pytest.mark.parametrize("schedulers", [("pbs",), ("pbs",) * 11, ("pbs", "lsf")])
def test_a_centre_of_one_cluster_of_eleven_or_of_an_unknown_scheduler_is_refused(schedulers: tuple[str, ...]) -> None:
    with pytest.raises(TestbedError, match="of a centre"):
        CentreSpec("site", schedulers)


def test_a_centre_whose_networks_would_meet_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("container.centre.centre_spec.network_of", lambda _name: "10.24.0")
    with pytest.raises(TestbedError, match=r"'site'.*rename it"):
        CentreSpec("site")


def test_an_unknown_cluster_is_refused_with_those_there_are() -> None:
    with pytest.raises(TestbedError, match="no cluster 'd'; it has a, b, c"):
        CentreSpec().find("d")
