"""What victims are asked, and until when they are held: requests planned, sent, withdrawn and ended."""
