"""The page of a run of very many events: its newest end first, the rest on demand."""
