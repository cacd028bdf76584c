"""The operations on files, each run as the user who owns them: list, place results, remove, the landing folder."""
