"""Which server a line of the audit is about: the same one goes by short and by whole host names, and by aliases."""

from __future__ import annotations

from collections.abc import Iterable


def is_same(one: str, other: str) -> bool:
    """Whether two names are of one host: alike, or one of them the other without its domain; case does not count."""
    first, second = (name.rstrip(".").lower() for name in (one, other))
    if first == second:
        return True
    short, long_ = sorted((first, second), key=len)
    return bool(short) and "." not in short and long_.startswith(f"{short}.")


def goes_by(names: Iterable[str], name: str) -> bool:
    """Whether a server with these names is the one that is called so."""
    return any(is_same(known, name) for known in names)


def names_of(name: str, host: str, configured: str) -> tuple[str, ...]:
    """The names of a server: what it calls itself, its host, and the name by which it was asked for. One that is
    another one's short form is left out, so that servers in other domains are not taken for it."""
    known = [each for each in dict.fromkeys((name, host, configured)) if each]
    return tuple(each for each in known if not any(is_same(each, other) and len(other) > len(each) for other in known))
