"""What the console asks of any cluster: the backend, its commands, and the values that a change reads back."""
