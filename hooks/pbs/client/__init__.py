"""The one client of PBS's library ``pbs_ifl``: a connection, its requests, and how long they may take together."""
