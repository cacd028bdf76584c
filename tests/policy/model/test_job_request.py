"""select and place, read as PBS reads them; what cannot be read is quoted in the error."""

from __future__ import annotations

import pytest

from policy.model.job_request import Chunk, Grouping, Request, RequestError, parse_request


def test_chunks_amounts_wishes_and_ranks() -> None:
    request = parse_request("2:ncpus=4:mem=1gb:arch=linux:mpiprocs=4:ompthreads=1+1:ngpus=1", "scatter:excl")
    first, second = request.chunks
    assert first == Chunk(2, (("mem", 1 << 20), ("ncpus", 4)), (("arch", "linux"),), 4, 1)
    assert second == Chunk(1, (("ncpus", 1), ("ngpus", 1)))
    assert (request.place, request.sharing, request.group) == ("scatter", "excl", None)
    assert request.totals == (("mem", 2 << 20), ("ncpus", 9), ("ngpus", 1))
    assert (request.cores, request.amount("mem"), request.amount("none")) == (9, 2 << 20, 0)


def test_a_chunk_has_one_core_unless_it_says_otherwise() -> None:
    assert parse_request("3").cores == 3
    assert parse_request("1:mem=1gb").cores == 1
    assert parse_request("1:ncpus=0:mem=1gb").cores == 0


def test_equal_requests_are_one_shape() -> None:
    assert parse_request("4:ncpus=1") == Request.of_cores(4)
    assert hash(parse_request("1:mem=1gb:ncpus=2")) == hash(parse_request("1:ncpus=2:mem=1048576kb"))
    assert parse_request("2", "pack") != parse_request("2")
    assert parse_request("2", "excl") != parse_request("2", "exclhost")


@pytest.mark.parametrize(
    ("select", "place", "only"),
    [
        ("8", "", True),
        ("8", "free:shared", True),
        ("8", "excl", False),
        ("8", "pack", False),
        ("8", "group=rack", False),
        ("4:ncpus=2", "", False),
        ("8:mem=1gb", "", False),
        ("8:arch=linux", "", False),
        ("4+4", "", True),
        ("4+4:mem=1gb", "", False),
    ],
)
def test_only_cores_is_the_shape_for_which_counting_is_exact(select: str, place: str, *, only: bool) -> None:
    assert parse_request(select, place).only_cores is only


def test_equal_neighbours_are_one_chunk_of_all_their_pieces() -> None:
    merged = parse_request("1:ncpus=2:mem=1gb+3:mem=1gb:ncpus=2+1:ncpus=1+1:ncpus=2:mem=1gb")
    assert [(chunk.pieces, chunk.cores) for chunk in merged.chunks] == [(4, 2), (1, 1), (1, 2)]


def test_long_texts_are_not_remembered() -> None:
    short, long = "1:ncpus=2", "+".join(f"1:ncpus={count + 1}" for count in range(200))
    assert parse_request(short) is parse_request(short)
    assert parse_request(long) is not parse_request(long)
    assert parse_request(long) == parse_request(long)


def test_a_group_is_read_from_place() -> None:
    assert parse_request("2", "scatter:group=rack").group == Grouping(("rack",))


def test_quotes_keep_separators_together() -> None:
    (chunk,) = parse_request("1:ncpus=2:app=\"a+b:c\":note='d'").chunks
    assert dict(chunk.wants) == {"app": "a+b:c", "note": "d"}


def test_a_site_says_what_is_consumable() -> None:
    consumables = frozenset({"ncpus", "fpgas"})
    (chunk,) = parse_request("1:fpgas=2:ngpus=1", "", consumables).chunks
    assert (chunk.amounts, chunk.wants) == ((("fpgas", 2), ("ncpus", 1)), (("ngpus", "1"),))


@pytest.mark.parametrize(
    ("select", "place", "quoted"),
    [
        ("", "", "''"),
        ("2:ncpus", "", "'ncpus'"),
        ("2:=4", "", "'=4'"),
        ("0:ncpus=1", "", "'0:ncpus=1'"),
        ("1:ncpus=two", "", "'ncpus=two'"),
        ("1:ncpus=-1", "", "'ncpus=-1'"),
        ("1:mem=4xb", "", "'mem=4xb'"),
        ("1:mpiprocs=x", "", "'mpiprocs=x'"),
        ('1:app="a', "", "quote"),
        ("10000000000", "", "10000000000"),
        ("1", "packed", "'packed'"),
        ("1", "group=", "'group='"),
        ("1++1", "", "''"),
    ],
)
def test_what_cannot_be_read_is_quoted(select: str, place: str, quoted: str) -> None:
    with pytest.raises(RequestError) as refused:
        parse_request(select, place)
    assert quoted in str(refused.value)


def test_a_select_of_sizes_is_shown_in_kb() -> None:
    assert (
        parse_request("1:mem=1gb:accelerator_memory=1mb").select == "1:accelerator_memory=1024kb:mem=1048576kb:ncpus=1"
    )
    assert parse_request("1:ncpus=0:mem=1kb").select == "1:ncpus=0:mem=1kb"
