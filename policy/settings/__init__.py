"""The settings of a site, checked as a whole when they are read."""
