"""Files as the editor sees them: open buffers over disk."""
