"""The console's folders and the site's settings files."""
