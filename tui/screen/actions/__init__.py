"""What each action does on the screen."""
