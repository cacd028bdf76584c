"""Themes, and what terminals need beyond Textual."""
