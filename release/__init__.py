"""Builds the releases: wheel, source archive, one-file program, DEB and RPM, with checksums and an SBOM.

``make dist`` calls :mod:`release.build_distribution`. ``release/pbsteer`` is the package that a wheel installs.
"""
