from __future__ import annotations

from workspaces import own_folders, root, workspace

__all__ = ["own_folders", "root", "workspace"]
