"""The Textual application and its one screen."""
