"""Themes, and fixes for Textual and terminals."""
