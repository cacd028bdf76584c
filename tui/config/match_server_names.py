"""Matches server names: one server appears under short and full host names and under aliases."""

from __future__ import annotations

from collections.abc import Iterable


def is_same(one: str, other: str) -> bool:
    """Whether two names are of one host: equal, or one is the other without its domain; case is ignored."""
    first, second = (name.rstrip(".").lower() for name in (one, other))
    if first == second:
        return True
    short, long_ = sorted((first, second), key=len)
    return bool(short) and "." not in short and long_.startswith(f"{short}.")


def goes_by(names: Iterable[str], name: str) -> bool:
    """Whether ``name`` is one of a server's ``names``."""
    return any(is_same(known, name) for known in names)


def names_of(name: str, host: str, configured: str) -> tuple[str, ...]:
    """The names of a server: its own, its host's, and the configured one. A short form of another of them is left out,
    since it would match servers in other domains."""
    known = [each for each in dict.fromkeys((name, host, configured)) if each]
    return tuple(each for each in known if not any(is_same(each, other) and len(other) > len(each) for other in known))
