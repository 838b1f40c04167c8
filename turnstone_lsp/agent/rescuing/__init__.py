"""Readers of tool calls that arrive as text: one module for each kind of notation. Used by `agent/rescue.py` alone."""
