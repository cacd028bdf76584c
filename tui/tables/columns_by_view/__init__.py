"""The columns of each view's table, one file for each view, and what several of these columns are worked out from."""
