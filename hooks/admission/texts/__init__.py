"""Refuses a job or reservation whose texts are too long for PBS and the passes, have line breaks, or would make PBS
end, wait or run what a user chooses."""
