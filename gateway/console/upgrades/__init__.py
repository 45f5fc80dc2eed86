"""What an upgrade would change in open runs, as a page."""
