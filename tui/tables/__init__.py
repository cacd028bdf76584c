"""The columns, filters and layout of the tables, their export, and the grid of vnodes."""
