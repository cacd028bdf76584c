"""The list of a job's sockets and cores on its hosts: files for its programs, and binding to the cores."""
