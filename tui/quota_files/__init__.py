"""Tables of quotas in files, CSV and TOML: read, checked line by line, and written."""
