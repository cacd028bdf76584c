"""The views, and the way back and forth between them."""
