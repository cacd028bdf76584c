"""Running programs: argument lists, time limits, bounded output."""
