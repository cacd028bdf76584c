"""What opens above a view: the quota dialog and the help."""
