"""The HTTP side: one thread a connection, loopback only, everything bounded."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Any

from model_server.events import stream_events, whole_completion
from model_server.legality import fault_in
from model_server.scenario import Json, Scenario, ScenarioError

BODY_BYTES = 64 * 1024 * 1024
CONNECTIONS = 64
REQUESTS = 200_000
LOG_RECORDS = 20_000
SLEEP_SECONDS = 120.0
FLUSH_BYTES = 32_768


class _CutError(Exception):
    """The scenario asked for the connection to be cut."""


class Server(ThreadingMixIn, HTTPServer):
    """Serves one scenario at a time and keeps a record of every request."""

    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, port: int, scenario: Scenario, *, keep_requests: bool) -> None:
        self.scenario = scenario
        self.released = threading.Event()
        self.arrived = threading.Condition()
        self._keep_requests = keep_requests
        self._log: list[Json] = []
        self._left = REQUESTS
        self._slots = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        """Bind without the DNS look-up that http.server makes."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002 - the base class has it so
        """Loopback only."""
        return bool(client_address[0] == "127.0.0.1")

    def process_request(self, request: Any, client_address: Any) -> None:
        """Take a connection if a slot is free."""
        if not self._slots.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._slots.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection and free its slot."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no error of the server."""
        if not isinstance(sys.exc_info()[1], (OSError, ValueError)):
            super().handle_error(request, client_address)

    def begin(self, body: Json, size: int, headers: Json) -> Json | None:
        """The record of a request that has arrived; None when the request limit is spent."""
        record: Json = {
            "start": time.monotonic(),
            "stream": bool(body.get("stream")),
            "messages": len(body.get("messages") or []),
            "tools": len(body.get("tools") or []),
            "request_bytes": size,
            "headers": headers,
            "events": 0,
            "outcome": "running",
        }
        if self._keep_requests:
            record["request"] = body
        with self.arrived:
            self._left -= 1
            if self._left < 0:
                return None
            if len(self._log) < LOG_RECORDS:
                self._log.append(record)
            self.arrived.notify_all()
        return record

    @property
    def count(self) -> int:
        """How many requests have arrived. The caller holds `arrived`."""
        return len(self._log)

    def snapshot(self) -> list[Json]:
        """The records so far, in order of arrival."""
        with self.arrived:
            return [dict(record) for record in self._log]

    def play(self, scenario: Scenario) -> None:
        """Serve another scenario, with an empty log."""
        with self.arrived:
            self.scenario = scenario
            self.released.clear()
            self._log.clear()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server
    timeout = 300

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, *args: Any) -> None:  # noqa: ARG002 - silent
        return

    def do_GET(self) -> None:
        path, scenario = self.path.split("?", 1)[0], self.server.scenario
        if path in (f"{scenario.prefix}/models", "/models"):
            if self._key_holds():
                self._send(scenario.listing())
        elif path == "/stub/log":
            self._send({"log": self.server.snapshot()})
        elif path in scenario.paths:
            self._send(scenario.paths[path])
        else:
            self._send({"error": {"message": "no such path"}}, 404)

    def do_POST(self) -> None:
        path, scenario = self.path.split("?", 1)[0], self.server.scenario
        body, size = self._body()
        if body is None:
            return
        if path in (f"{scenario.prefix}/chat/completions", "/chat/completions"):
            if self._key_holds():
                self._chat(body, size)
        elif path.startswith("/stub/"):
            self._control(path, body)
        elif path in scenario.paths:
            self._send(scenario.paths[path])
        else:
            self._send({"error": {"message": "no such path"}}, 404)

    # -- plumbing

    def _send(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        text = isinstance(value, str)
        data = value.encode() if text else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if text else "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, content in (headers or {}).items():
            self.send_header(name, content)
        self.end_headers()
        self.wfile.write(data)

    def _body(self) -> tuple[Json | None, int]:
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 <= size <= BODY_BYTES:
            self.close_connection = True
            self._send({"error": {"message": "request too large"}}, 413)
            return None, 0
        try:
            body = json.loads(self.rfile.read(size) or b"{}")
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._send({"error": {"message": "request is not a JSON object"}}, 400)
            return None, 0
        return body, size

    def _key_holds(self) -> bool:
        key = self.server.scenario.key
        if key is None or self.headers.get("Authorization") == f"Bearer {key}":
            return True
        self._send({"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}, 401)
        return False

    def _control(self, path: str, body: Json) -> None:
        if path == "/stub/release":
            self.server.released.set()
        elif path in ("/stub/scenario", "/stub/reset"):
            try:
                self.server.play(Scenario(body if path.endswith("scenario") else self.server.scenario.document))
            except ScenarioError as error:
                self._send({"error": {"message": str(error)}}, 400)
                return
        self._send({"ok": True})

    # -- chat

    def _chat(self, request: Json, size: int) -> None:
        record = self.server.begin(request, size, {k.lower(): v for k, v in self.headers.items()})
        if record is None:
            self.close_connection = True
            self._send({"error": {"message": "the stub's request limit is spent"}}, 503)
            return
        outcome = "ok"
        reply: Json = {}
        try:
            if refused := self._refusal(request):
                outcome = "refused"
                self._send({"error": refused}, 400)
                return
            record["chosen"], reply = self.server.scenario.choose(request)
            outcome = self._play(reply, request, record)
        except _CutError:
            outcome = "cut"
            self._cut(clean=bool(reply.get("disconnect_clean")))
        except (BrokenPipeError, ConnectionResetError):
            outcome = "client left"
            self.close_connection = True
        finally:
            record["outcome"] = outcome
            record["end"] = time.monotonic()

    def _refusal(self, request: Json) -> Json | None:
        scenario = self.server.scenario
        if scenario.strict and (fault := fault_in(request.get("messages") or [])):
            return {"message": fault, "type": "invalid_request_error", "param": "messages", "code": None}
        return scenario.refusal(request)

    def _play(self, reply: Json, request: Json, record: Json) -> str:
        _nap(reply.get("first_delay_ms", 0))
        if reply.get("drop"):
            raise _CutError
        status = reply.get("status", 200)
        if status != 200:
            headers = dict(reply.get("headers") or {})
            if "retry_after" in reply:
                headers["Retry-After"] = str(reply["retry_after"])
            error = reply.get("error") or {"message": f"scripted {status}", "type": "stub", "code": None}
            self._send(reply.get("error_body", {"error": error}), status, headers)
            return f"status {status}"
        if request.get("stream") and not reply.get("whole"):
            self._stream(reply, request, record)
        elif reply.get("disconnect_after") is not None:
            raise _CutError
        else:
            self._send(whole_completion(reply, request))
        return "ok"

    def _cut(self, *, clean: bool) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            if clean:
                self.connection.shutdown(socket.SHUT_RDWR)
            else:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def _stream(self, reply: Json, request: Json, record: Json) -> None:
        self.send_response(200)
        self.send_header("Content-Type", reply.get("content_type", "text/event-stream"))
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        out = _Chunks(self.wfile, eager=bool(reply.get("delay_ms")))
        if "raw_body" in reply:
            out.put(reply["raw_body"].encode())
            out.end()
            return
        number = -1
        for number, event in enumerate(stream_events(reply, request)):
            self._before(number, reply, out)
            out.put(b"data: " + json.dumps(event).encode() + b"\n\n")
            record["events"] = number + 1
            _nap(reply.get("delay_ms", 0))
        self._before(number + 1, reply, out)
        if reply.get("disconnect_after") is not None:
            out.flush()
            raise _CutError
        if not reply.get("no_done"):
            out.put(b"data: [DONE]\n\n")
        out.end()

    def _before(self, number: int, reply: Json, out: _Chunks) -> None:
        """What the scenario wants to happen before the event of this number."""
        if reply.get("disconnect_after") == number:
            out.flush()
            raise _CutError
        if reply.get("hold_after") == number:
            out.flush()
            self._hold(reply, out)
        if reply.get("stall_after") == number:
            out.flush()
            _nap(reply.get("stall_ms", 0))
        if reply.get("garbage_after") == number:
            out.put(b"data: {not json\n\n")
        if reply.get("error_event_after") == number:
            error = reply.get("error") or {"message": "scripted in-band error", "code": 500}
            out.put(b"data: " + json.dumps({"error": error}).encode() + b"\n\n")
        if reply.get("comment_every") and number % reply["comment_every"] == 0:
            out.put(b": ping\n\n")

    def _hold(self, reply: Json, out: _Chunks) -> None:
        """Wait for `release`; with comments_ms, say ": ping" meanwhile."""
        pause = reply.get("comments_ms", 0) / 1000
        end = time.monotonic() + SLEEP_SECONDS
        while time.monotonic() < end and not self.server.released.wait(pause or 0.05):
            if pause:
                out.put(b": ping\n\n")
                out.flush()


class _Chunks:
    """Chunked transfer coding, gathered into few writes unless `eager`."""

    def __init__(self, file: Any, *, eager: bool) -> None:
        self._file = file
        self._eager = eager
        self._waiting = bytearray()

    def put(self, data: bytes) -> None:
        self._waiting += b"%x\r\n%s\r\n" % (len(data), data)
        if self._eager or len(self._waiting) > FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            self._file.write(bytes(self._waiting))
            self._waiting.clear()

    def end(self) -> None:
        self._waiting += b"0\r\n\r\n"
        self.flush()


def _nap(milliseconds: float) -> None:
    if milliseconds > 0:
        time.sleep(min(milliseconds / 1000, SLEEP_SECONDS))
