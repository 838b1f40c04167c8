"""What a test holds: the server in a thread of its own, or one in another process."""

from __future__ import annotations

import json
import threading
import urllib.request
from typing import TYPE_CHECKING, Any

from model_server.scenario import Json, Scenario
from model_server.serving import Server

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


class StubServer:
    """The server in a background thread; a context manager."""

    def __init__(self, scenario: Json, port: int = 0, *, keep_requests: bool = True) -> None:
        self._server = Server(port, Scenario(scenario), keep_requests=keep_requests)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="stub-openai", daemon=True
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self._server.scenario.prefix}"

    def set(self, scenario: Json) -> None:
        """Play another scenario from now on; the log is emptied."""
        self._server.play(Scenario(scenario))

    def log(self) -> list[Json]:
        """One record for each chat request: start, end, chosen, headers, request, events, outcome ..."""
        return self._server.snapshot()

    def requests(self) -> list[Json]:
        """The bodies of the chat requests, in order of arrival."""
        return [record["request"] for record in self.log()]

    def release(self) -> None:
        """Let the replies that hold go on."""
        self._server.released.set()

    def wait_for(self, count: int, timeout: float = 10.0) -> bool:
        """Block until that many requests have arrived; False when they do not."""
        with self._server.arrived:
            return self._server.arrived.wait_for(lambda: self._server.count >= count, timeout)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()


class StubClient:
    """The same handle for a server that runs in another process."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.base_url = f"http://127.0.0.1:{port}/v1"

    def set(self, scenario: Json) -> None:
        self._call("/stub/scenario", scenario)

    def release(self) -> None:
        self._call("/stub/release", {})

    def log(self) -> list[Json]:
        log: list[Json] = self._call("/stub/log")["log"]
        return log

    def requests(self) -> list[Json]:
        return [record["request"] for record in self.log()]

    def _call(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data=data, headers={"Content-Type": "application/json"}
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as response:
            return json.load(response)
