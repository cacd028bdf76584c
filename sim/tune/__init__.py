"""Settings recommended from the recorded weeks of a site."""
