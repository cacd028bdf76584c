"""The audit: what was changed through the console, by whom, and with which outcome."""
