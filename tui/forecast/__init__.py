"""When jobs start, and what a change would do to that over a day: forecasts on what the server shows now."""
