"""Recommends settings from the recorded weeks of a site."""
