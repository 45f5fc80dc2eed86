"""The door for Slack: decisions by buttons, and threads as sessions."""
