"""The messages between two clusters: their content, form and bounds."""
