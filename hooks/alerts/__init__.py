"""Alerts to the administrators: by syslog, and by the site's own command."""
