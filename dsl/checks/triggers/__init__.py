"""Checks of the section `triggers`: one file per kind, and what they share."""
