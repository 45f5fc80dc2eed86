"""Problems of tools, in words."""
