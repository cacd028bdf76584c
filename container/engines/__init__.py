"""The engines, which make a testbed's hosts: Linux namespaces, or podman's containers and their image."""
