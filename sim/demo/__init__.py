"""The demo cluster and its users."""
