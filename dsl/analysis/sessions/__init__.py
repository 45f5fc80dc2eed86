"""Sessions: which paths leave a message without a reply, and what one message may cost."""
