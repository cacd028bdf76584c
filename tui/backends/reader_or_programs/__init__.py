"""A real server, read by a reader process, or by the manager's programs where no reader can be used."""
