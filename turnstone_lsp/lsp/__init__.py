"""The editor side: pygls, document sync, and the user interfaces over LSP."""
