"""The base of values of which a pass makes several: equal where their fields are, never changed once made.

A named tuple is shorter to write, but a function in Python makes it, whether its module is compiled or not. A class
with slots takes half of that time, and a quarter or less where mypyc has compiled it.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

_V = TypeVar("_V", bound="ValueMadeOften")


class ValueMadeOften:
    """Base of a class whose ``__slots__`` name the arguments of its ``__init__``, each kept as a
    :data:`~typing.Final` attribute of that name. No class derives from such a class."""

    __slots__: ClassVar[tuple[str, ...]] = ()

    def fields(self) -> dict[str, object]:
        """All its fields by name."""
        return {name: getattr(self, name) for name in type(self).__slots__}

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, ValueMadeOften):
            return NotImplemented
        return self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash(tuple(self.fields().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([f'{name}={value!r}' for name, value in self.fields().items()])})"

    def __reduce__(self) -> tuple[object, ...]:
        return _made_anew, (type(self), self.fields())

    def _replace(self: _V, **changes: Any) -> _V:
        """The same value with other fields, by name, as named tuples have it. Raises TypeError for a name that it
        lacks."""
        return type(self)(**{**self.fields(), **changes})


def _made_anew(kind: type[_V], fields: dict[str, Any]) -> _V:
    return kind(**fields)
