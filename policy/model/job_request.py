"""A job's request: chunks of resources and how they are to be placed. It is PBS's ``select`` and ``place``, parsed
once.

Requests are values: a pass decides once for all jobs with equal requests (PBS Professional User's Guide, "Allocating
Resources & Placing Jobs").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from policy.model.pbs_units import SIZES, UnitError, parse_resource, show_resource

Amounts = tuple[tuple[str, int], ...]
"""Amounts of consumables, ``(resource, amount)`` sorted by resource; sizes in KiB."""

Owner = tuple[str, str]
"""The user and the group of a job."""

ARRANGEMENTS = ("free", "pack", "scatter", "vscatter")
SHARINGS = ("", "shared", "excl", "exclhost")
DEFAULT_CONSUMABLES: frozenset[str] = frozenset(
    {"ncpus", "mem", "vmem", "ngpus", "naccelerators", "accelerator_memory"}
)
_RANKS = ("mpiprocs", "ompthreads")
_LONGEST_REMEMBERED = 1024
"""Only selects and places of at most this many characters together are remembered with their requests: the server's
interpreter lives long."""


_LONGEST_QUOTED = 200
"""At most this many characters of a text are quoted in an error."""


class RequestError(ValueError):
    """A select or place that cannot be read; the message quotes the part that is wrong."""


class Chunk(NamedTuple):
    """``pieces`` equal copies of a chunk: the consumables of each, the values that it wants of its vnode, and its
    ranks."""

    pieces: int
    amounts: Amounts
    wants: tuple[tuple[str, str], ...] = ()
    mpiprocs: int | None = None
    ompthreads: int | None = None

    @property
    def cores(self) -> int:
        """Cores of one piece."""
        for name, amount in self.amounts:
            if name == "ncpus":
                return amount
        return 0


_NOTHING_ASKED = Chunk(0, ())


def _cores_of_piece(chunk: Chunk) -> int:
    return chunk.cores


class Grouping(NamedTuple):
    """Placement sets: all chunks go to vnodes with the same value of one of the ``resources``.

    With ``has_rest`` the vnodes without a value of a resource are a set too, as in PBS without ``only_explicit_psets``.
    With ``may_span`` a job that no set could hold may use all vnodes, as in PBS without ``do_not_span_psets``.
    """

    resources: tuple[str, ...]
    has_rest: bool = True
    may_span: bool = True


class Request:
    """Chunks in the order of ``select``, the arrangement, the sharing, and the placement sets, if any.

    ``owner``: the job's user and group, if some vnode limits how many jobs of one owner run on it; else None.
    ``totals`` sums the consumables over all chunks; ``cores`` is its ``ncpus``. ``quota_cores`` is what quotas of cores
    count: the same, with one core for each piece that asks for none. ``only_cores``: nothing but single cores on any
    vnodes is asked for, so that counting cores is exact. ``hardest`` is the chunk with the most cores per piece, which
    shows soonest that a request does not fit.
    """

    __slots__ = (
        "_hash", "chunks", "cores", "exclusive", "group", "hardest", "only_cores", "owner", "place", "quota_cores",
        "sharing", "totals",
    )  # fmt: skip

    def __init__(
        self,
        chunks: tuple[Chunk, ...],
        place: str = "free",
        sharing: str = "",
        group: Grouping | None = None,
        owner: Owner | None = None,
    ) -> None:
        self.chunks = chunks
        self.place = place
        self.sharing = sharing
        self.group = group
        self.owner = owner
        sums: dict[str, int] = {}
        for chunk in chunks:
            for name, amount in chunk.amounts:
                sums[name] = sums.get(name, 0) + amount * chunk.pieces
        # Whether the job asks to have its vnodes to itself.
        self.exclusive = sharing in ("excl", "exclhost")
        self.totals: Amounts = tuple(sorted(sums.items()))
        self.cores = sums.get("ncpus", 0)
        self.quota_cores = self.cores + sum([chunk.pieces for chunk in chunks if not chunk.cores])
        self.hardest = max(chunks, key=_cores_of_piece) if len(chunks) > 1 else chunks[0] if chunks else _NOTHING_ASKED
        self.only_cores = (
            len(chunks) == 1
            and chunks[0].amounts == (("ncpus", 1),)
            and not chunks[0].wants
            and place == "free"
            and sharing in ("", "shared")
            and group is None
            and owner is None
        )
        self._hash = hash((chunks, place, sharing, group, owner))

    @classmethod
    def of_cores(cls, cores: int) -> Request:
        """Single cores on any vnodes, as workload traces ask for."""
        return cls((Chunk(cores, (("ncpus", 1),)),))

    def amount(self, resource: str) -> int:
        """The total of one consumable; 0 where it is not asked for."""
        if resource == "ncpus":
            return self.cores
        return next((amount for name, amount in self.totals if name == resource), 0)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Request)
            and self._hash == other._hash
            and (self.chunks, self.place, self.sharing, self.group, self.owner)
            == (other.chunks, other.place, other.sharing, other.group, other.owner)
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        parts = [repr(self.select), f"place={self.place!r}", f"sharing={self.sharing!r}", f"group={self.group!r}"]
        return f"Request({', '.join(parts if self.owner is None else [*parts, f'owner={self.owner!r}'])})"

    def in_sets(self, group: Grouping) -> Request:
        """The same request within these placement sets."""
        return self if group == self.group else _in_sets(self, group)

    def of_owner(self, owner: Owner | None) -> Request:
        """The same request of a job of this owner, or of one that no vnode limits (None)."""
        return self if owner == self.owner else _of_owner(self, owner)

    @property
    def select(self) -> str:
        """The request as PBS's ``select``."""
        return self.show_select()

    def show_select(self, sizes: Collection[str] = SIZES) -> str:
        """The same; ``sizes`` names all resources that are sizes, a site's own included, as PBS reads a size without a
        unit as bytes."""
        return "+".join(_show_chunk(chunk, sizes) for chunk in self.chunks)


@lru_cache(maxsize=65536)
def _in_sets(request: Request, group: Grouping) -> Request:
    return Request(request.chunks, request.place, request.sharing, group, request.owner)


@lru_cache(maxsize=65536)
def _of_owner(request: Request, owner: Owner | None) -> Request:
    return Request(request.chunks, request.place, request.sharing, request.group, owner)


def _show_chunk(chunk: Chunk, sizes: Collection[str]) -> str:
    parts = [str(chunk.pieces)]
    amounts = chunk.amounts if chunk.cores else (("ncpus", 0), *chunk.amounts)
    parts += [show_resource(name, amount, sizes) for name, amount in amounts]
    parts += [f"{name}={_quote(value)}" for name, value in chunk.wants]
    parts += [f"{name}={value}" for name, value in zip(_RANKS, (chunk.mpiprocs, chunk.ompthreads)) if value is not None]
    return ":".join(parts)


def _quote(value: str) -> str:
    """The value, in quotes if it has a separator, as PBS requires."""
    if not any(separator in value for separator in "+:,'\" "):
        return value
    return f"'{value}'" if '"' in value else f'"{value}"'


def parse_request(
    select: str,
    place: str = "",
    consumables: frozenset[str] = DEFAULT_CONSUMABLES,
    sizes: frozenset[str] = SIZES,
) -> Request:
    """Read PBS's ``select`` and ``place``. The server defines which resources are ``consumables``, and which of them
    are ``sizes``.

    Equal neighbouring chunks become one. Raises :class:`RequestError` naming the part that cannot be read.
    """
    if len(select) + len(place) > _LONGEST_REMEMBERED:
        return _parse_request(select, place, consumables, sizes)
    return _parse_remembered(select, place, consumables, sizes)


def count_kinds(select: str) -> int:
    """How many kinds of chunks a ``select`` has, equal neighbours counted once. Chunks are compared as they are
    written, without parsing them. Raises :class:`RequestError` for a quote that is not closed."""
    return sum(1 for _ in groupby(map(_without_count, _split(select, "+"))))


def _without_count(chunk: str) -> str:
    count, _, rest = chunk.partition(":")
    return rest if count.isascii() and count.isdigit() else chunk


def _parse_request(select: str, place: str, consumables: frozenset[str], sizes: frozenset[str]) -> Request:
    chunks = _merged(_parse_chunk(part, consumables, sizes) for part in _split(select, "+"))
    arrangement, sharing = "free", ""
    group: Grouping | None = None
    for word in filter(None, place.split(":")):
        if word in ARRANGEMENTS:
            arrangement = word
        elif word in SHARINGS:
            sharing = word
        elif word.startswith("group=") and len(word) > len("group="):
            group = Grouping((word[len("group=") :],))
        else:
            raise RequestError(
                f"place {place!r}: {word!r} is not one of {', '.join(ARRANGEMENTS)}, shared, "
                f"excl, exclhost, group=RESOURCE"
            )
    return Request(chunks, arrangement, sharing, group)


_parse_remembered = lru_cache(maxsize=65536)(_parse_request)


def _merged(chunks: Iterable[Chunk]) -> tuple[Chunk, ...]:
    """The chunks, with equal neighbours merged into one with the sum of their pieces."""
    merged: list[Chunk] = []
    for chunk in chunks:
        if merged and merged[-1][1:] == chunk[1:]:
            merged[-1] = chunk._replace(pieces=merged[-1].pieces + chunk.pieces)
        else:
            merged.append(chunk)
    return tuple(merged)


def _parse_chunk(text: str, consumables: frozenset[str], sizes: frozenset[str]) -> Chunk:
    parts = _split(text, ":")
    count = 1
    if parts and parts[0].isascii() and parts[0].isdigit():
        count = int(parts.pop(0))
    if count < 1 or count > 10**9:
        raise RequestError(f"chunk {text[:_LONGEST_QUOTED]!r}: its count {count} must be from 1 to 1,000,000,000")
    amounts: dict[str, int] = {}
    wants: list[tuple[str, str]] = []
    ranks: dict[str, int] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals or not name:
            raise RequestError(f"select chunk {text[:_LONGEST_QUOTED]!r}: {part!r} is not RESOURCE=VALUE")
        if name in _RANKS:
            ranks[name] = _whole(text, part, value, sizes)
        elif name in consumables:
            amounts[name] = _whole(text, part, value, sizes)
        else:
            wants.append((name, value.strip("\"'")))
    amounts.setdefault("ncpus", 1)
    return Chunk(
        count,
        tuple(sorted((name, amount) for name, amount in amounts.items() if amount)),
        tuple(sorted(wants)),
        ranks.get("mpiprocs"),
        ranks.get("ompthreads"),
    )


def _whole(chunk: str, part: str, value: str, sizes: frozenset[str]) -> int:
    try:
        amount = parse_resource(part.partition("=")[0], value, sizes)
    except UnitError as error:
        raise RequestError(f"select chunk {chunk[:_LONGEST_QUOTED]!r}: {error}") from error
    if amount is None:
        raise RequestError(
            f"select chunk {chunk[:_LONGEST_QUOTED]!r}: {part!r} has no amount"
            " (allowed: a whole number, or a size like 4gb)"
        )
    return amount


def _split(text: str, separator: str) -> list[str]:
    """Split outside quotes; PBS quotes string values that hold a separator."""
    if '"' not in text and "'" not in text:
        return [part.strip() for part in text.split(separator)]
    parts, begun, quote = [], 0, ""
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == separator:
            parts.append(text[begun:index].strip())
            begun = index + 1
    if quote:
        raise RequestError(f"select {text[:_LONGEST_QUOTED]!r}: the quote {quote} is not closed")
    return [*parts, text[begun:].strip()]
