"""Sandboxed children: the math host and the HTML child."""
