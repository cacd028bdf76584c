"""The pictures of the documentation, and the tables of the quota paper."""
