"""A testbed's hosts, addresses and vnodes follow from its specification; what could not be is refused by name."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from container.testbed_spec import MAX_MOMS, TestbedError, TestbedSpec, short_name

names = st.from_regex(r"(?!m[0-9]+\Z)[a-z][a-z0-9-]{0,29}[a-z0-9]", fullmatch=True)


@given(name=names, moms=st.integers(1, MAX_MOMS))
def test_every_host_has_a_name_and_a_private_address_of_its_own(name: str, moms: int) -> None:
    hosts = TestbedSpec(name=name, moms=moms).hosts
    assert len({host.name for host in hosts}) == len({host.address for host in hosts}) == moms + 1
    network = ipaddress.ip_network(f"{hosts[0].address}/24", strict=False)
    assert network.is_private
    assert {ipaddress.ip_address(host.address) for host in hosts} <= set(network.hosts())


@given(name=names, moms=st.integers(1, 9))
def test_a_host_is_found_by_its_full_and_by_its_short_name(name: str, moms: int) -> None:
    spec = TestbedSpec(name=name, moms=moms)
    for host in spec.hosts:
        assert spec.find_host(host.name) == spec.find_host(short_name(spec, host)) == host


def test_testbeds_of_different_names_are_on_different_networks() -> None:
    networks = {TestbedSpec(name=name).server.address for name in ("pbsteer", "pbsteer-test", "pbsteer-b")}
    assert len(networks) == 3


def test_a_mom_shows_its_natural_vnode_and_the_others_named_after_it() -> None:
    spec = TestbedSpec(name="t", moms=2, vnodes=3)
    assert spec.vnode_names(spec.mom_hosts[1]) == ("t-m2", "t-m2-v2", "t-m2-v3")


def test_vnodes_of_all_moms_have_different_names() -> None:
    spec = TestbedSpec(moms=12, vnodes=12)
    vnodes = [vnode for mom in spec.mom_hosts for vnode in spec.vnode_names(mom)]
    assert len(set(vnodes)) == 144


@pytest.mark.parametrize("name", ["", "Upper", "1st", "a_b", "a/b", "..", "a-", "a b", "a\n", "é", "x" * 32, "m1"])
def test_a_name_that_is_no_host_name_is_refused(name: str) -> None:
    with pytest.raises(TestbedError, match=re.escape(repr(name))):
        TestbedSpec(name=name)


@pytest.mark.parametrize(
    ("field", "value"), [("moms", 0), ("moms", MAX_MOMS + 1), ("cores", 0), ("cores", -1), ("vnodes", 0)]
)
def test_a_number_out_of_range_is_refused_with_what_is_allowed(field: str, value: int) -> None:
    with pytest.raises(TestbedError, match=f"{field} {value}: between 1 and"):
        TestbedSpec(**{field: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["opt/pbs", "/opt/p bs", "/opt/$(x)", "/opt/p;bs", "/opt/pbs\n"])
def test_a_path_that_a_shell_would_take_apart_is_refused(path: str) -> None:
    with pytest.raises(TestbedError, match="must be absolute"):
        TestbedSpec(pbs_exec=path)


def test_an_engine_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(TestbedError, match="'tents' is not known; there is netns, podman"):
        TestbedSpec(engine="tents")


def test_a_host_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(TestbedError, match="no host 'm3'; it has server, m1, m2"):
        TestbedSpec(moms=2).find_host("m3")


@pytest.mark.parametrize("setting", [{"image": "debian"}, {"pbs_in_image": True}, {"shares": ("/srv",)}])
def test_what_only_containers_have_is_refused_of_namespaces(setting: dict[str, Any]) -> None:
    TestbedSpec(engine="podman", **setting)
    with pytest.raises(TestbedError, match="engine 'netns' takes no image and no shared folders"):
        TestbedSpec(engine="netns", **setting)


@pytest.mark.parametrize("image", ["--privileged", "a b", "-v", "debian\n", "$(x)"])
def test_an_image_name_that_podman_would_take_for_an_option_is_refused(image: str) -> None:
    with pytest.raises(TestbedError, match="not a name that podman takes"):
        TestbedSpec(engine="podman", image=image)


@given(name=names)
def test_no_testbed_has_addresses_that_podman_gives_its_own_networks(name: str) -> None:
    second_octet = int(TestbedSpec(name=name).server.address.split(".")[1])
    assert second_octet < 88
