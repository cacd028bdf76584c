"""Widgets that repaint only what changed."""
