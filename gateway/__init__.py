"""The gateway: one process between people or programs and Temporal, which keeps nothing itself."""
