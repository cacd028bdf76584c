"""Centres for tests, named for this process so that test runs do not meet."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from container.centre import centre as centres
from container.centre.centre import Centre
from container.centre.centre_spec import CentreSpec, Programs
from container.hosts.machine_and_host_requirements import find_slurm_shortcomings
from tests.pbs.centre import install_programs_for_all_accounts as folders
from tests.pbs.centre.act_as_user_and_service import SiteUser


def name_centre() -> str:
    return f"pbst-{os.getpid()}"


@pytest.fixture(scope="session")
def programs() -> Iterator[Programs]:
    """The programs of migration, by a path that every account on every host can use."""
    with folders.usable_programs(name_centre()) as found:
        yield found


@pytest.fixture(scope="session")
def slurm_centre(programs: Programs) -> Iterator[Centre]:
    """Clusters a and b of Slurm with one node each; up in seconds."""
    shortcomings = find_slurm_shortcomings()
    if shortcomings is not None:
        pytest.skip(shortcomings)
    spec = CentreSpec(f"{name_centre()}-s", ("slurm", "slurm"), moms=1)
    try:
        yield centres.up(spec, programs)
    finally:
        centres.down(spec.name)


@pytest.fixture(scope="session")
def pbs_centre(programs: Programs, pbs_exec: str) -> Iterator[Centre]:
    """Clusters a and b of PBS with one MoM each; up in a minute."""
    spec = CentreSpec(f"{name_centre()}-p", ("pbs", "pbs"), moms=1, pbs_exec=pbs_exec)
    try:
        yield centres.up(spec, programs)
    finally:
        centres.down(spec.name)


@pytest.fixture
def slurm_user(slurm_centre: Centre, programs: Programs) -> Iterator[SiteUser]:
    """Alice at cluster a of Slurm, whose jobs may go to b."""
    yield from _user_of_empty_clusters(slurm_centre, programs)


@pytest.fixture
def pbs_user(pbs_centre: Centre, programs: Programs) -> Iterator[SiteUser]:
    """Alice at cluster a of PBS, whose jobs may go to b."""
    yield from _user_of_empty_clusters(pbs_centre, programs)


def _user_of_empty_clusters(centre: Centre, programs: Programs) -> Iterator[SiteUser]:
    """The user of a centre that is empty before and afterwards, whatever an earlier test has left."""
    user = SiteUser(centre, programs)
    user.clear()
    try:
        yield user
    finally:
        user.clear()
