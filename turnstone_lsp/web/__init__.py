"""Guarded fetching, page to text, and Tavily."""
