"""The door for clients of OpenAI's API: teams as models, sessions as conversations."""
