"""Who asks: sign-in, tokens and roles."""
