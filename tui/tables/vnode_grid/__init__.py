"""The occupancy grid: one cell for each vnode, with the colours, letters and ranks that its cells show."""
