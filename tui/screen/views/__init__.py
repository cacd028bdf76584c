"""The views, one file for each: the bases of all views and of tables, then a view a file, and the places visited."""
