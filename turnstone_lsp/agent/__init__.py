"""The engine: sessions, turns and the tool pipeline. Knows no editor and no JSON-RPC."""
