"""The server's attributes as typed values, and sums over them."""
