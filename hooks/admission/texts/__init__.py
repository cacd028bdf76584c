"""Refuses a job or reservation whose texts are too long for PBS and the passes, or have line breaks."""
