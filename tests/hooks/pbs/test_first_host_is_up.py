"""The first vnode of a run, which says which MoM answers for it."""

from __future__ import annotations

import pytest

from hooks.pbs.first_host_is_up import find_first_vnode


@pytest.mark.parametrize(
    ("exec_vnode", "first"),
    [
        ("(v1:ncpus=2)+(v2:ncpus=2)", "v1"),
        ("(n-1.site[0]:ncpus=2:mem=4gb+n-1.site[1]:ncpus=2)", "n-1.site[0]"),
        ("(v1)", "v1"),
        ("", ""),
        ("v1:ncpus=2", "v1"),
        ("v1", "v1"),
        ("(:ncpus=2)", ""),
    ],
)
def test_the_first_vnode_is_the_first_that_is_named(exec_vnode: str, first: str) -> None:
    assert find_first_vnode({"exec_vnode": exec_vnode}) == first
