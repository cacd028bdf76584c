"""Who is on the vnodes: cores by user from what the jobs hold, letters by how much, the most first."""

from __future__ import annotations

from policy import Ledger, Settings
from tests.tui.scripted import a_picture, changed, running, with_job
from tui.state.cluster_view import World, see
from tui.tables.occupancy_grid import lay_out, legend
from tui.tables.occupants import OTHERS, Occupants, occupants


def world(*more: tuple[str, str, int, str]) -> World:
    picture = changed(a_picture(), jobs={})
    for job, user, cores, vnode in more:
        picture = with_job(picture, job, running(user, cores, vnode))
    return see(picture, Settings(), Ledger(), 0.1)


def test_letters_go_by_cores_over_all_vnodes_the_most_first() -> None:
    found = occupants(world(("1", "alice", 2, "v1"), ("2", "bob", 3, "v1"), ("3", "alice", 4, "v2")))
    assert found.cores == {"v1": {"alice": 2, "bob": 3}, "v2": {"alice": 4}}
    assert found.letters == {"alice": "A", "bob": "B"}
    assert (found.letter(["v1"]), found.letter(["v2"]), found.letter(["v1", "v2"]), found.letter(["v3"])) == (
        "B",
        "A",
        "A",
        "",
    )


def test_who_is_on_some_vnodes_is_told_the_most_first() -> None:
    found = occupants(world(("1", "alice", 2, "v1"), ("2", "bob", 3, "v1"), ("3", "alice", 4, "v2")))
    assert found.told(["v1"]) == "B bob 3 · A alice 2"
    assert found.told(["v1", "v2"]) == "A alice 6 · B bob 3"
    assert found.told(["v3"]) == "nobody is there"


def test_chunks_over_several_vnodes_count_on_each() -> None:
    attributes = {
        **running("alice", 6, "v1"),
        "exec_vnode": "(v1:ncpus=2:mem=4kb+v2:ncpus=1)+(v2:mem=1kb:ncpus=3)+(v3)",
    }
    picture = with_job(changed(a_picture(), jobs={}), "1", attributes)
    found = occupants(see(picture, Settings(), Ledger(), 0.1))
    assert found.cores == {"v1": {"alice": 2}, "v2": {"alice": 4}}


def test_there_are_letters_for_as_many_as_the_alphabet_has() -> None:
    many = occupants(world(*((str(n), f"user{n:02}", 100 - n, "v1") for n in range(30))))
    assert (len(many.letters), many.letters["user00"], many.letters["user25"]) == (26, "A", "Z")
    assert Occupants({"v1": {"user29": 1}}, many.letters, many.totals).letter(["v1"]) == OTHERS


def test_the_grid_has_letters_of_users_and_of_states_and_the_legend_says_whose() -> None:
    seen = see(a_picture(), Settings(), Ledger(), 0.1)
    who = occupants(seen)
    grid = lay_out(seen, 80, 10, who)
    assert [cell.span[0] for cell in grid.cells] == ["A", "A", "o"]
    assert legend(grid, 80, who).endswith("A alice 12")
    assert legend(grid, 20, who).endswith("…"), "no room for a name"
