"""What a person does in a browser: `make test-doors`, with Chromium and a real OIDC provider."""
