"""What every table has: columns, layout, filter line, search and export. Each view's own columns are in
``columns_by_view``, the grid of vnodes in ``vnode_grid``."""
