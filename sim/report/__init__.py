"""The figures of a replay as a table, JSON, a text picture or a plot."""
