"""Names with a suffix: as they are where they fit, else cut, and still two names."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from migration.as_user.user_files.fit_file_name import fit_name, fit_path

NAMES = st.binary(min_size=1, max_size=255).filter(lambda raw: not {0, ord("/")} & {*raw}).map(os.fsdecode)


@given(NAMES, NAMES, st.sampled_from([".mg-a.1", ".mg-part", ".a.1234567"]))
def test_a_name_fits_ends_with_the_suffix_and_is_no_others(one: str, other: str, suffix: str) -> None:
    fitted = fit_name(one, suffix)
    assert len(os.fsencode(fitted)) <= 255
    assert fitted.endswith(suffix)
    assert (fitted == fit_name(other, suffix)) == (one == other)


def test_a_name_that_fits_is_as_it_was_and_of_a_path_the_last_name_is_cut() -> None:
    assert fit_path("/d/mesh.dat", ".mg-part") == "/d/mesh.dat.mg-part"
    assert fit_path("mesh.dat", ".mg-part") == "mesh.dat.mg-part"
    above, _, name = fit_path(f"/d/{'n' * 255}", ".mg-part").rpartition("/")
    assert (above, name[:200], name[-8:], len(name)) == ("/d", "n" * 200, ".mg-part", 255)
