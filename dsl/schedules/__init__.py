"""Calendars: at which local times a schedule fires."""
