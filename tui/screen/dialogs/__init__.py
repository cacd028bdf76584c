"""What opens above a view."""
