"""What the frozen dataclasses of ``policy/`` have in common: they can be copied, and sent to another process.

pickle makes an object and sets its attributes, which a frozen class that mypyc has compiled refuses. These are made
anew from their fields instead.
"""

from __future__ import annotations

from collections.abc import Mapping


class FrozenValue:
    """Base of a dataclass that is frozen and takes all its fields as arguments."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type[FrozenValue], tuple[object, ...]]:
        names: Mapping[str, object] = type(self).__dataclass_fields__  # type: ignore[attr-defined]  # of the dataclass
        return type(self), tuple([getattr(self, name) for name in names])
