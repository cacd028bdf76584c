"""The pictures of the documentation, and the table of hard limits against soft quotas."""
