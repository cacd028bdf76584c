"""Whether a name is that of a host, as jobs ask for hosts (``host=``): in upper or lower case, with the domain or
without it.
"""

from __future__ import annotations

from collections.abc import Collection


def is_host(name: str, wanted: str) -> bool:
    """Whether ``name`` is the host that is asked for: with or without its domain, but never with another domain. Both
    are in lower case."""
    return wanted in (name, _short(name)) or _short(wanted) == name


def is_host_among(names: Collection[str], wanted: str) -> bool:
    """Whether one of the names is the host that is asked for, all in lower case."""
    # Almost every job asks by a name that is in the set, or that is so without its domain: then none is compared.
    return wanted in names or _short(wanted) in names or any(is_host(name, wanted) for name in names)


def _short(host: str) -> str:
    return host.partition(".")[0]
