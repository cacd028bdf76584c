"""The compose file's names and addresses are those that the hosts work out for themselves."""

from __future__ import annotations

import re
from pathlib import Path

from container import container_entry as entry
from container.testbed_spec import TestbedSpec

TEXT = (Path(entry.__file__).parent / "compose.yaml").read_text()


def test_every_host_has_the_role_name_and_address_of_its_specification() -> None:
    spec = TestbedSpec()
    found = re.findall(
        r'command: \["(\w+)"\]\n +hostname: (\S+)\n +networks: \{testbed: \{ipv4_address: ([0-9.]+)\}\}', TEXT
    )
    assert found == [("server" if host.is_server else "mom", host.name, host.address) for host in spec.hosts]


def test_the_shape_is_a_default_testbeds() -> None:
    spec = TestbedSpec()
    assert f"PBSTEER_NAME: {spec.name}\n" in TEXT
    assert f'PBSTEER_MOMS: "{spec.moms}"\n' in TEXT
    assert f"${{CORES:-{spec.cores}}}" in TEXT
    assert f"${{VNODES:-{spec.vnodes}}}" in TEXT
    assert f"${{PBS_EXEC:-{spec.pbs_exec}}}" in TEXT


def test_an_installed_pbs_is_mounted_where_the_entry_point_looks_for_it() -> None:
    assert f":{entry.INSTALLED}:ro" in TEXT
    assert f"homes:{entry.HOMES}\n" in TEXT
