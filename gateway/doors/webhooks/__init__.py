"""Webhooks: signed requests of other systems that start runs, or signal them."""
