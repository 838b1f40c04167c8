"""Supervised child processes, and the gate that reads a command before it runs."""
