"""Who is on the vnodes: cores by user from what the jobs hold, letters by how much, the most first."""

from __future__ import annotations

from policy import Ledger, Settings
from tests.tui.scripted_server import a_server_status, changed, running, with_job
from tui.state.cluster_view import ClusterView, see
from tui.tables.vnode_grid.grid_colours import colours_by
from tui.tables.vnode_grid.occupancy_grid import lay_out, legend
from tui.tables.vnode_grid.user_letters import OTHERS, Occupants, occupants
from tui.text.screen_line import width


def cluster(*more: tuple[str, str, int, str]) -> ClusterView:
    server_status = changed(a_server_status(), jobs={})
    for job, user, cores, vnode in more:
        server_status = with_job(server_status, job, running(user, cores, vnode))
    return see(server_status, Settings(), Ledger(), 0.1)


def test_letters_go_by_cores_over_all_vnodes_the_most_first() -> None:
    found = occupants(cluster(("1", "alice", 2, "v1"), ("2", "bob", 3, "v1"), ("3", "alice", 4, "v2")))
    assert found.cores == {"v1": {"alice": 2, "bob": 3}, "v2": {"alice": 4}}
    assert found.letters == {"alice": "A", "bob": "B"}
    assert (found.letter(["v1"]), found.letter(["v2"]), found.letter(["v1", "v2"]), found.letter(["v3"])) == (
        "B",
        "A",
        "A",
        "",
    )


def test_who_is_on_some_vnodes_is_told_the_most_first() -> None:
    found = occupants(cluster(("1", "alice", 2, "v1"), ("2", "bob", 3, "v1"), ("3", "alice", 4, "v2")))
    assert found.describe(["v1"]) == "B bob 3 · A alice 2"
    assert found.describe(["v1", "v2"]) == "A alice 6 · B bob 3"
    assert found.describe(["v3"]) == "no user has cores there"


def test_chunks_over_several_vnodes_count_on_each() -> None:
    attributes = {
        **running("alice", 6, "v1"),
        "exec_vnode": "(v1:ncpus=2:mem=4kb+v2:ncpus=1)+(v2:mem=1kb:ncpus=3)+(v3)",
    }
    server_status = with_job(changed(a_server_status(), jobs={}), "1", attributes)
    found = occupants(see(server_status, Settings(), Ledger(), 0.1))
    assert found.cores == {"v1": {"alice": 2}, "v2": {"alice": 4}}


def test_there_are_letters_for_as_many_as_the_alphabet_has() -> None:
    many = occupants(cluster(*((str(n), f"user{n:02}", 100 - n, "v1") for n in range(30))))
    assert (len(many.letters), many.letters["user00"], many.letters["user25"]) == (26, "A", "Z")
    assert Occupants({"v1": {"user29": 1}}, many.letters, many.totals).letter(["v1"]) == OTHERS


def test_the_grid_has_letters_of_users_and_of_states_and_the_legend_says_whose() -> None:
    seen = see(a_server_status(), Settings(), Ledger(), 0.1)
    colours = colours_by(seen, "user")
    grid = lay_out(seen, 80, 10, colours)
    assert [cell.span[0] for cell in grid.cells] == ["A", "A", "o"]
    assert "A alice 12" in legend(grid, 80, colours)
    assert legend(grid, 20, colours).endswith("…"), "no room for a name"


def test_each_letter_is_named_in_the_legend_or_in_its_rest() -> None:
    found = occupants(cluster(*((str(n), f"user{n:02}", 40 - n, "v1") for n in range(10))))
    assert found.legend(200).startswith("A user00 40 · B user01 39") and found.legend_rest(200) == ""
    for cells in (0, 5, 20, 45, 88, 89, 120):
        legend, rest = found.legend(cells), found.legend_rest(cells)
        assert width(legend) <= cells
        named = [entry.split()[:2] for entry in f"{legend} · {rest}".split(" · ") if entry]
        assert named == [[letter, user] for user, letter in found.letters.items()], cells
