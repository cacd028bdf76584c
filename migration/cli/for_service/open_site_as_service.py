"""Opens this cluster for programs of the service's account.

Other accounts are refused, root too: the service could not open files that root makes there.
"""

from __future__ import annotations

import os
import pwd

import click

from migration.target_job.service_context import Site, open_site


def open_site_as_service() -> Site:
    """This cluster. Raises click.ClickException if this is not the account to which MG_HOME belongs."""
    site = open_site()
    owner = site.home.stat().st_uid
    if owner != os.geteuid():
        try:
            name = pwd.getpwuid(owner).pw_name
        except KeyError:
            name = f"#{owner}"
        raise click.ClickException(f"{site.home} belongs to {name}: run this as {name}, with sudo -u {name}")
    return site
