"""What people and programs do with runs: one table of operations, and how each answers."""
