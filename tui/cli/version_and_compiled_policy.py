"""``pbsteer --version``: the version, and whether the modules of ``policy/`` that decide here are compiled.

A compiled wheel has native modules beside the sources; a Python that they are not made for reads the sources.
"""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec

import click

_DECIDES = "policy.cycle.engine"


def is_policy_compiled() -> bool:
    """Whether this Python decides with native modules."""
    spec = find_spec(_DECIDES)
    return spec is not None and (spec.origin or "").endswith(tuple(EXTENSION_SUFFIXES))


def show_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Print the version, and end."""
    if wanted and not ctx.resilient_parsing:
        # Slow to load, and every command loads this module.
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

        try:
            installed = version("pbsteer")
        except PackageNotFoundError:
            installed = "not installed"
        click.echo(f"pbsteer, version {installed}, policy {'compiled' if is_policy_compiled() else 'from source'}")
        ctx.exit()
