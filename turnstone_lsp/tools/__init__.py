"""The 14 tools: their definitions, and one module each with prepare and execute."""
