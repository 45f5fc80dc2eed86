"""Stand-ins of platforms that call us."""
