"""The columns, filters and layout of the tables, export, and the grid of vnodes."""
