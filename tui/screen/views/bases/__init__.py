"""What views have in common: a title over a body, tables, tables with details, and the way back and forth."""
