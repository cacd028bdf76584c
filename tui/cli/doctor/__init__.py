"""``pbsteer doctor``: looks at everything that support would ask about, and says what is wrong and what to do."""
