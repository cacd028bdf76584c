"""Where a job's chunks are: vnodes, what each chunk holds there, and how many chunks.

A placement is PBS's ``exec_vnode`` as a value. The engine makes placements as sets of vnodes (bit masks over one
:class:`Directory` of names), so that a job over a thousand vnodes costs no thousand steps until somebody wants names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from policy.model.bitsets import count_vnodes
from policy.model.request import Amounts
from policy.model.units import SIZES, parse_resource, show_resource

_PIECE = re.compile(r"\(([^()]*)\)")


class PlacementError(ValueError):
    """An ``exec_vnode`` that cannot be read."""


class Directory:
    """The vnodes' names in order, and the bit of each; one per set of names, shared by all placements over it."""

    __slots__ = ("bits", "names")

    def __init__(self, names: Iterable[str]) -> None:
        self.names: tuple[str, ...] = tuple(sorted(names))
        self.bits: dict[str, int] = {name: 1 << index for index, name in enumerate(self.names)}

    def named(self, mask: int) -> list[str]:
        """The names of a set of vnodes, in order."""
        names, found = self.names, []
        while mask:
            low = mask & -mask
            found.append(names[low.bit_length() - 1])
            mask ^= low
        return found


class Spot(NamedTuple):
    """``chunks`` equal chunks on one vnode, each holding ``amounts``; if ``joined``, a further part of the chunk that
    the spot before belongs to, on another vnode of its host."""

    vnode: str
    amounts: Amounts
    chunks: int
    joined: bool = False


class Share(NamedTuple):
    """The same on a set of vnodes: ``chunks`` equal chunks on each vnode of ``mask``, a single one where ``joined``."""

    mask: int
    amounts: Amounts
    chunks: int
    joined: bool = False


class Placement:
    """Spots in the order of the job's chunks. Equal when they name the same spots."""

    __slots__ = ("_cores", "_directory", "_shares", "_spots")

    def __init__(
        self,
        spots: tuple[Spot, ...] | None = None,
        shares: tuple[Share, ...] = (),
        directory: Directory | None = None,
    ) -> None:
        self._spots = spots
        self._shares = shares
        self._directory = directory
        self._cores: int | None = None

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
        """What is held, as sets of vnodes of a directory, in no order; spots on vnodes that it does not know are left
        out."""
        if self._directory is directory:
            return self._shares
        masks: dict[tuple[Amounts, int], int] = {}
        shares: list[Share] = []
        bits = directory.bits
        for spot in self.spots:
            bit = bits.get(spot.vnode, 0)
            kind = (spot.amounts, spot.chunks)
            if masks.get(kind, 0) & bit:
                shares.append(Share(bit, spot.amounts, spot.chunks))
            elif bit:
                masks[kind] = masks.get(kind, 0) | bit
        shares += [Share(mask, amounts, chunks) for (amounts, chunks), mask in masks.items()]
        self._directory, self._shares, self._cores = directory, tuple(shares), None
        return self._shares

    @property
    def cores(self) -> int:
        """The cores held in all, on whatever vnodes."""
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

    @property
    def chunks(self) -> int:
        """How many chunks there are, one over several vnodes of a host counted once."""
        return sum(spot.chunks for spot in self.spots if not spot.joined)

    def total(self, resource: str) -> int:
        """The amount of a consumable over all chunks."""
        return sum(spot.chunks * dict(spot.amounts).get(resource, 0) for spot in self.spots)

    def exec_vnode(self, sizes: Collection[str] = SIZES) -> str:
        """As PBS writes it: ``(v1:ncpus=2)+(h[0]:ncpus=8+h[1]:ncpus=4)``, a pair of parentheses for each chunk. What is
        a size, of a site's own resources too, has to be told for PBS to read it."""
        chunks: list[str] = []
        for spot in self.spots:
            text = ":".join([spot.vnode, *(show_resource(name, amount, sizes) for name, amount in spot.amounts)])
            if spot.joined:
                chunks[-1] += f"+{text}"
            else:
                chunks += [text] * spot.chunks
        return "+".join(f"({chunk})" for chunk in chunks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and self.spots == other.spots

    def __hash__(self) -> int:
        return hash(self.spots)

    def __repr__(self) -> str:
        return f"Placement({self.exec_vnode()!r})"


def parse_exec_vnode(text: str) -> Placement:
    """Read PBS's ``exec_vnode``. Raises :class:`PlacementError`.

    The parts of one chunk that is spread over several vnodes of a host, ``(h[0]:ncpus=2+h[1]:ncpus=1)``, become spots
    that are joined; what is no whole amount (a string resource) holds nothing and is left out.
    """
    spots: list[Spot] = []
    pieces: Sequence[str] = _PIECE.findall(text) or ([text] if text and "(" not in text else [])
    if text and not pieces:
        raise PlacementError(f"cannot read exec_vnode {text[:80]!r}")
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
    return Placement(tuple(spots))


Cores = Mapping[str, tuple[int, ...]]
"""The cores of one run by vnode; they are numbered from 0, socket by socket."""


NO_CORES: Cores = MappingProxyType({})
"""The list of a run that has none."""
