"""What commands have found, as text for people."""
