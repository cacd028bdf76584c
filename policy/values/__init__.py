"""What all values of policy/ have in common: once made they do not change, and other processes can have copies."""
