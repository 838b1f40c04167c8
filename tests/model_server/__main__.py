"""The scripted server as a process of its own."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from pathlib import Path

from model_server.handle import StubServer

LIFETIME_SECONDS = 3600.0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Scripted OpenAI-compatible chat server on 127.0.0.1.")
    parser.add_argument("scenario", type=Path, help="scenario JSON file")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--port-file", type=Path, help="write the port here once listening")
    parser.add_argument("--lifetime", type=float, default=600.0, help="stop after this many seconds")
    options = parser.parse_args(argv)
    try:
        server = StubServer(json.loads(options.scenario.read_text(encoding="utf-8")), options.port)
    except (OSError, ValueError) as error:
        print(f"model_server: {error}", file=sys.stderr)
        return 2
    with server:
        if options.port_file:
            part = options.port_file.with_suffix(".part")
            part.write_text(str(server.port), encoding="ascii")
            part.replace(options.port_file)
        print(server.base_url, flush=True)
        end = time.monotonic() + min(options.lifetime, LIFETIME_SECONDS)
        with contextlib.suppress(KeyboardInterrupt):
            while time.monotonic() < end:
                time.sleep(0.2)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
