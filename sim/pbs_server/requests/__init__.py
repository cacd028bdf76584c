"""What a simulated server is asked: status, qmgr's lines, managers' changes, and PBS's own programs."""
