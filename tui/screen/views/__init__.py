"""The views, and the places visited."""
