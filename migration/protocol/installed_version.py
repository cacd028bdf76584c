"""The version of this installation, which answers to other clusters carry."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """The version; empty where the project is not installed."""
    try:
        return version("pbsteer")
    except PackageNotFoundError:
        return ""
