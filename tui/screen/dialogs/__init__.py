"""The dialogs that open above a view."""
