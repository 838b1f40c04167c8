"""Searching files: one dialect of patterns, and three engines that give the same answer."""
