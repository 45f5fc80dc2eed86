"""The console: pages of runs, teams and requests, for people."""
