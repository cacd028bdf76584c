"""The console's folders and the site's file of settings."""
