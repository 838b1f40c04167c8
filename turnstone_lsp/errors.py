"""Errors whose text is meant to be read.

TurnstoneError          says what is wrong and what to do next, for the user and the model alike
 +- ToolError           a tool call that cannot be done as asked
 +- ConfigError         a setting that cannot be used
 +- ModelError          the model endpoint failed or answered something unusable
"""

from __future__ import annotations


class TurnstoneError(Exception):
    """An error with a whole sentence for its reader: what is wrong and what to do next."""


class ToolError(TurnstoneError):
    """A tool call that cannot be done as asked; its text is the call's result."""


class ConfigError(TurnstoneError):
    """A setting that cannot be used; the text names the setting and where it was set."""


class ModelError(TurnstoneError):
    """The model endpoint refused, failed, or answered something that cannot be used."""
