"""What can go wrong on the web, as fixed phrases.

WebError        a page that cannot be had
 +- RefusedError     the guard said no, before anything was sent there

No text names an address that a host name led to, and a name without an address reads like one with a private address:
the model cannot learn from them what exists in the user's network.
"""

from __future__ import annotations

from turnstone_lsp.errors import ToolError


class WebError(ToolError):
    """A page that cannot be had: no connection, a bad answer, something that is not text."""


class RefusedError(WebError):
    """A URL, an address or a redirect that is never followed."""
