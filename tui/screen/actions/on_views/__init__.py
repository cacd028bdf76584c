"""Actions on what a view shows: navigate, jump, filter, sort, columns, marks, ranks, copy and export."""
