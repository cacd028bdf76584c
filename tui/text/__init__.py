"""Lines, widths, durations and names as plain text."""
