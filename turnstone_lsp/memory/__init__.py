"""SQLite: memories, sessions, messages and their full-text search."""
