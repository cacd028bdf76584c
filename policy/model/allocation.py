"""An allocation: where a job's chunks are, and what each holds there. It is PBS's ``exec_vnode`` as a value.

The engine makes allocations as sets of vnodes (bit masks over a :class:`Directory` of names): a job over a thousand
vnodes costs a thousand steps only once the names are needed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from policy.model.job_request import Amounts
from policy.model.pbs_units import SIZES, parse_resource, show_resource
from policy.model.vnode_bitsets import count_vnodes, indices_of

_PIECE = re.compile(r"\(([^()]*)\)")


class AllocationError(ValueError):
    """An ``exec_vnode`` that cannot be read."""


class Directory:
    """The names of vnodes in order, and the bit of each. There is one per set of names, shared by all allocations over
    it."""

    __slots__ = ("bits", "names")

    def __init__(self, names: Iterable[str]) -> None:
        self.names: tuple[str, ...] = tuple(sorted(names))
        self.bits: dict[str, int] = {name: 1 << index for index, name in enumerate(self.names)}

    @classmethod
    def of(cls, names: Iterable[str]) -> Directory:
        """The directory of these names: the last one again if it has the same."""
        return _directory_of(tuple(sorted(names)))

    def named(self, mask: int) -> list[str]:
        """The names of a set of vnodes, in order."""
        names, found = self.names, []
        while mask:
            low = mask & -mask
            found.append(names[low.bit_length() - 1])
            mask ^= low
        return found


_directory_of = lru_cache(maxsize=1)(Directory)


class Spot(NamedTuple):
    """``chunks`` equal chunks on one vnode, each holding ``amounts``. If ``joined``, the spot is a further part of the
    chunk of the spot before, on another vnode of its host."""

    vnode: str
    amounts: Amounts
    chunks: int
    joined: bool = False


class Share(NamedTuple):
    """The same on a set of vnodes: ``chunks`` equal chunks on each vnode of ``mask``; a single vnode where
    ``joined``."""

    mask: int
    amounts: Amounts
    chunks: int
    joined: bool = False


class Cell(NamedTuple):
    """What a share holds on one of its vnodes, which is at this place ``at`` in the directory; all its chunks together
    have these ``cores``."""

    at: int
    amounts: Amounts
    chunks: int
    cores: int


class Allocation:
    """Spots in the order of the job's chunks. Allocations are equal when their spots are."""

    __slots__ = ("_cells", "_cores", "_directory", "_shares", "_spots")

    def __init__(
        self,
        spots: tuple[Spot, ...] | None = None,
        shares: tuple[Share, ...] = (),
        directory: Directory | None = None,
        cores: int | None = None,
    ) -> None:
        """Give ``shares`` over a ``directory`` or ``spots``; ``cores``, where they are known, spare counting them."""
        self._spots = spots
        self._shares = shares
        self._directory = directory
        self._cores = cores
        self._cells: tuple[Cell, ...] | None = None

    @property
    def spots(self) -> tuple[Spot, ...]:
        """Vnode by vnode, in the order of the job's chunks."""
        if self._spots is None:
            directory = self._directory
            assert directory is not None  # noqa: S101 - one of the two is always given
            self._spots = tuple(
                Spot(name, share.amounts, share.chunks, share.joined)
                for share in self._shares
                for name in directory.named(share.mask)
            )
        return self._spots

    def shares(self, directory: Directory) -> tuple[Share, ...]:
        """What is held, as sets of vnodes of a directory, in no order. Spots on vnodes outside the directory are left
        out."""
        if self._directory is directory:
            return self._shares
        masks: dict[tuple[Amounts, int], int] = {}
        shares: list[Share] = []
        bits = directory.bits
        for spot in self.spots:
            bit = bits.get(spot.vnode, 0)
            kind = (spot.amounts, spot.chunks)
            mask = masks.get(kind, 0)
            if mask & bit:
                shares.append(Share(bit, spot.amounts, spot.chunks))
            elif bit:
                # The directory's own integer for a single vnode: of ten thousand vnodes each is a thousand bytes.
                masks[kind] = mask | bit if mask else bit
        shares += [Share(mask, amounts, chunks) for (amounts, chunks), mask in masks.items()]
        self._directory, self._shares, self._cores, self._cells = directory, tuple(shares), None, None
        return self._shares

    def cells(self, directory: Directory) -> tuple[Cell, ...]:
        """The same as :meth:`shares`, vnode by vnode: a search that looks at thousands of runs splits no set twice."""
        cells = self._cells
        if cells is None or self._directory is not directory:
            cells = self._cells = tuple(
                Cell(index, amounts, chunks, cores)
                for mask, amounts, chunks, _ in self.shares(directory)
                for cores in [chunks * sum([amount for name, amount in amounts if name == "ncpus"])]
                for index in indices_of(mask)
            )
        return cells

    @property
    def cores(self) -> int:
        """All cores held, on whatever vnodes."""
        if self._cores is None:
            if self._directory is None:
                self._cores = self.total("ncpus")
            else:
                self._cores = sum(
                    chunks * amount * count_vnodes(mask)
                    for mask, amounts, chunks, _ in self._shares
                    for name, amount in amounts
                    if name == "ncpus"
                )
        return self._cores

    def cores_on(self, vnodes: int, directory: Directory) -> int:
        """The cores held on a set of vnodes of a directory."""
        shares = self.shares(directory)
        for share in shares:
            if share.mask & ~vnodes:
                break
        else:
            return self.cores
        return sum(
            chunks * amount * count_vnodes(mask & vnodes)
            for mask, amounts, chunks, _ in shares
            for name, amount in amounts
            if name == "ncpus"
        )

    @property
    def vnodes(self) -> tuple[str, ...]:
        """The vnodes used, each once, in order of first use."""
        directory = self._directory
        if self._spots is None and directory is not None and len(self._shares) == 1:
            return tuple(directory.named(self._shares[0].mask))
        return tuple(dict.fromkeys(spot.vnode for spot in self.spots))

    def by_vnode(self) -> dict[str, dict[str, int]]:
        """What all chunks on a vnode hold there together, by vnode and resource."""
        held: dict[str, dict[str, int]] = {}
        for vnode, amounts, chunks, _ in self.spots:
            here = held.setdefault(vnode, {})
            for resource, amount in amounts:
                here[resource] = here.get(resource, 0) + amount * chunks
        return held

    @property
    def chunks(self) -> int:
        """The number of chunks; a chunk over several vnodes of a host counts once."""
        return sum(spot.chunks for spot in self.spots if not spot.joined)

    def total(self, resource: str) -> int:
        """The amount of a consumable over all chunks."""
        return sum(spot.chunks * dict(spot.amounts).get(resource, 0) for spot in self.spots)

    def exec_vnode(self, sizes: Collection[str] = SIZES) -> str:
        """The allocation in PBS's syntax, a pair of parentheses for each chunk:
        ``(v1:ncpus=2)+(h[0]:ncpus=8+h[1]:ncpus=4)``. ``sizes`` names all resources that are sizes, a site's own
        included, as PBS reads a size without a unit as bytes."""
        chunks: list[str] = []
        for spot in self.spots:
            text = ":".join([spot.vnode, *(show_resource(name, amount, sizes) for name, amount in spot.amounts)])
            if spot.joined:
                chunks[-1] += f"+{text}"
            else:
                chunks += [text] * spot.chunks
        return "+".join(f"({chunk})" for chunk in chunks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Allocation) and self.spots == other.spots

    def __hash__(self) -> int:
        return hash(self.spots)

    def __repr__(self) -> str:
        return f"Allocation({self.exec_vnode()!r})"


def parse_exec_vnode(text: str) -> Allocation:
    """Read PBS's ``exec_vnode``. Raises :class:`AllocationError`.

    The parts of a chunk that is spread over several vnodes of a host, ``(h[0]:ncpus=2+h[1]:ncpus=1)``, become joined
    spots. A value that is no amount (a string resource) is left out, as it holds nothing.
    """
    spots: list[Spot] = []
    pieces: Sequence[str] = _PIECE.findall(text) or ([text] if text and "(" not in text else [])
    if text and not pieces:
        raise AllocationError(f"cannot read exec_vnode {text[:80]!r}")
    for piece in pieces:
        parts = piece.split("+")
        for number, part in enumerate(parts):
            vnode, *assignments = part.split(":")
            amounts = []
            for assignment in assignments:
                name, _, value = assignment.partition("=")
                amount = parse_resource(name, value)
                if amount:
                    amounts.append((name, amount))
            held = tuple(sorted(amounts))
            if len(parts) == 1 and spots and spots[-1] == Spot(vnode, held, spots[-1].chunks):
                spots[-1] = Spot(vnode, held, spots[-1].chunks + 1)
            else:
                spots.append(Spot(vnode, held, 1, joined=number > 0))
    return Allocation(tuple(spots))


Cores = Mapping[str, tuple[int, ...]]
"""The cores of one run by vnode, numbered from 0, socket by socket."""


NO_CORES: Final[Cores] = MappingProxyType({})
"""The core list of a run that has none."""
