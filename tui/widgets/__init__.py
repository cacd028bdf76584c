"""The console's own widgets: lines that repaint only what changed, and what is built on them."""
