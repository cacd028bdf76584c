"""The commands simulate, compare, tune and forecast."""
