"""Events of runs as they happen, for any number of viewers, from one follower per run."""
