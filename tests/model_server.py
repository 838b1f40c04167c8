#!/usr/bin/env python3
"""Scripted OpenAI-compatible chat server for tests and benchmarks.

Standard library only, loopback only, bounded in every direction (request size,
connections, requests, lifetime, single sleep).  It never talks to a model: each
chat request is answered from a *scenario*, a JSON document::

    {
      "models": [{"id": "stub-model", "context": 131072}],
      "defaults": {"chunk_chars": 24, "delay_ms": 0, "arg_chunk_chars": 16,
                   "usage": "auto"},
      "mode": "turn",
      "replies": [ {...}, {...} ],
      "rules":   [ {"when": {...}, "reply": {...}} ]
    }

Which reply a request gets
  1. the first rule whose ``when`` holds (keys, all must hold:
     ``system_contains``, ``last_contains``, ``last_role``, ``has_tools``,
     ``stream``, ``nth`` (0-based count of requests that reached this rule
     test), ``max_hits`` (rule retires after that many uses));
  2. otherwise ``replies``:
       mode "turn"      index = assistant messages since the last user message,
                        so concurrent sessions do not disturb one another;
       mode "sequence"  index = requests served so far; stays on the last one;
       mode "cycle"     the same, wrapping round.

Reply fields (all optional)
  text               content to stream
  reasoning          reasoning to stream first; ``reasoning_style`` is
                     "reasoning_content" (default), "reasoning", or "think"
                     (a <think> block inside content)
  tool_calls         [{"name","arguments","id"?}]; ``arguments`` may be a JSON
                     value, or a *string*, which is sent exactly as written, so
                     broken JSON and bare strings are just strings
  interleave         true: fragments of parallel calls alternate by index
  repeat_id          true: every fragment repeats id and name (some gateways do)
  omit_index         true: fragments carry no index
  same_index         true: every call says index 0 (broken gateway)
  chunk_chars / arg_chunk_chars / delay_ms / first_delay_ms
  usage              "auto" | {"prompt_tokens":..,"completion_tokens":..} |
                     false; ``usage_with_finish`` puts it on the finishing chunk
  finish_reason      overrides stop / tool_calls; null sends none
  no_done            true: leave out the final ``data: [DONE]``
  status             an HTTP error instead of a completion; with ``retry_after``
                     (seconds) and ``error`` ({"message","type","code"})
  disconnect_after   cut the TCP connection after that many events (RST unless
                     ``disconnect_clean``); 0 = before any
  stall_after / stall_ms   pause once after that many events
  garbage_after      after that many events, send one line that is not JSON
  error_event_after  after that many events, send an in-band {"error":{..}} event
  comment_every      send ": ping" comments every N events
  raw_events         list of JSON values sent instead of everything above

Endpoints: GET /v1/models, POST /v1/chat/completions (stream or not),
GET /stub/log (one record per request, with monotonic start and end times),
POST /stub/scenario (replace the scenario; resets counters), POST /stub/reset,
GET /stub/health.

Use it from a test::

    with StubServer({"replies": [{"text": "hi"}]}) as stub:
        client = OpenAI(base_url=stub.base_url, api_key="x")
        ...
        stub.log()          # list of dicts

or from a shell::

    python3 model_server.py scenario.json --port 0 --port-file /tmp/port
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import pathlib
import socket
import struct
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Any, Iterator

LIMITS = {
    "body_bytes": 64 * 1024 * 1024,
    "connections": 64,
    "requests": 200_000,
    "log_records": 20_000,
    "sleep_s": 120.0,
    "lifetime_s": 3600.0,
    "events": 2_000_000,
}


class ScenarioError(ValueError):
    """The scenario document is not usable."""


# --------------------------------------------------------------------------
# choosing a reply
# --------------------------------------------------------------------------


class Scenario:
    """A parsed scenario with its counters (thread-safe)."""

    MODES = ("turn", "sequence", "cycle")

    def __init__(self, doc: dict[str, Any]) -> None:
        if not isinstance(doc, dict):
            raise ScenarioError("a scenario is a JSON object")
        self.doc = doc
        self.models = doc.get("models") or [{"id": "stub-model", "context": 131072}]
        self.defaults: dict[str, Any] = doc.get("defaults") or {}
        self.mode = doc.get("mode", "turn")
        if self.mode not in self.MODES:
            raise ScenarioError(f"mode must be one of {self.MODES}")
        self.replies: list[dict[str, Any]] = doc.get("replies") or []
        self.rules: list[dict[str, Any]] = doc.get("rules") or []
        if not self.replies and not self.rules:
            raise ScenarioError("a scenario needs replies or rules")
        self._lock = threading.Lock()
        self._served = 0
        self._rule_seen = [0] * len(self.rules)
        self._rule_hits = [0] * len(self.rules)

    def choose(self, request: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        messages = request.get("messages") or []
        with self._lock:
            for i, rule in enumerate(self.rules):
                when = rule.get("when") or {}
                if not self._holds(when, request, messages, i):
                    continue
                self._rule_hits[i] += 1
                return f"rule:{i}", {**self.defaults, **rule["reply"]}
            n = self._served
            self._served += 1
        if not self.replies:
            return "default", {**self.defaults, "text": "(no reply scripted)"}
        if self.mode == "turn":
            i = 0
            for m in reversed(messages):
                if m.get("role") == "user":
                    break
                i += m.get("role") == "assistant"
            i = min(i, len(self.replies) - 1)
        elif self.mode == "sequence":
            i = min(n, len(self.replies) - 1)
        else:
            i = n % len(self.replies)
        return f"reply:{i}", {**self.defaults, **self.replies[i]}

    def _holds(self, when: dict[str, Any], req: dict[str, Any], messages: list, i: int) -> bool:
        if "max_hits" in when and self._rule_hits[i] >= when["max_hits"]:
            return False
        last = messages[-1] if messages else {}
        if "last_role" in when and last.get("role") != when["last_role"]:
            return False
        if "last_contains" in when and when["last_contains"] not in _text_of(last):
            return False
        if "system_contains" in when:
            head = " ".join(_text_of(m) for m in messages if m.get("role") in ("system", "developer"))
            if when["system_contains"] not in head:
                return False
        if "has_tools" in when and bool(req.get("tools")) != when["has_tools"]:
            return False
        if "stream" in when and bool(req.get("stream")) != when["stream"]:
            return False
        if "nth" in when:
            seen = self._rule_seen[i]
            self._rule_seen[i] += 1
            return seen == when["nth"]
        return True


def _text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(p.get("text", "") for p in content if isinstance(p, dict))
    return ""


# --------------------------------------------------------------------------
# turning a reply into events
# --------------------------------------------------------------------------


def _slices(text: str, size: int) -> Iterator[str]:
    size = max(1, int(size))
    for i in range(0, len(text), size):
        yield text[i : i + size]


def _arg_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


_serial = itertools.count(1)


def normal_calls(reply: dict[str, Any]) -> list[dict[str, Any]]:
    out = []
    for call in reply.get("tool_calls") or []:
        out.append(
            {
                "id": call.get("id", f"call_{next(_serial):06d}"),
                "name": call["name"],
                "arguments": _arg_text(call.get("arguments", {})),
            }
        )
    return out


def usage_of(reply: dict[str, Any], request: dict[str, Any], out_chars: int) -> dict[str, int] | None:
    want = reply.get("usage", "auto")
    if want in (False, None):
        return None
    if isinstance(want, dict):
        p, c = int(want.get("prompt_tokens", 0)), int(want.get("completion_tokens", 0))
    else:
        chars = len(json.dumps(request.get("messages") or [])) + len(json.dumps(request.get("tools") or []))
        p, c = max(1, chars // 4), max(1, out_chars // 4)
    return {"prompt_tokens": p, "completion_tokens": c, "total_tokens": p + c}


def stream_events(reply: dict[str, Any], request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The chat.completion.chunk objects of one reply, in order."""
    if "raw_events" in reply:
        yield from reply["raw_events"]
        return
    base = {
        "id": f"chatcmpl-{next(_serial):06d}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": request.get("model", "stub-model"),
    }

    def ev(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    out_chars = 0
    size = reply.get("chunk_chars", 24)
    yield ev({"role": "assistant", "content": ""})
    reasoning = reply.get("reasoning", "")
    style = reply.get("reasoning_style", "reasoning_content")
    text = reply.get("text", "")
    if reasoning and style == "think":
        text = f"<think>{reasoning}</think>{text}"
    elif reasoning:
        for part in _slices(reasoning, size):
            out_chars += len(part)
            yield ev({style: part})
    for part in _slices(text, size):
        out_chars += len(part)
        yield ev({"content": part})
    calls = normal_calls(reply)
    if calls:
        queues: list[list[dict[str, Any]]] = []
        for i, call in enumerate(calls):
            index = 0 if reply.get("same_index") else i
            frags: list[dict[str, Any]] = []
            first = {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": ""},
            }
            frags.append(first)
            for part in _slices(call["arguments"], reply.get("arg_chunk_chars", 16)):
                out_chars += len(part)
                frag: dict[str, Any] = {"function": {"arguments": part}}
                if reply.get("repeat_id"):
                    frag["id"] = call["id"]
                    frag["function"]["name"] = call["name"]
                frags.append(frag)
            for f in frags:
                if not reply.get("omit_index"):
                    f["index"] = index
            queues.append(frags)
        if reply.get("interleave"):
            order = [f for group in itertools.zip_longest(*queues) for f in group if f is not None]
        else:
            order = [f for q in queues for f in q]
        for frag in order:
            yield ev({"tool_calls": [frag]})
    finish = reply["finish_reason"] if "finish_reason" in reply else ("tool_calls" if calls else "stop")
    usage = usage_of(reply, request, out_chars)
    if finish is not None:
        last = ev({}, finish)
        if usage and reply.get("usage_with_finish"):
            last["usage"] = usage
        yield last
    if usage and not reply.get("usage_with_finish"):
        yield {**base, "choices": [], "usage": usage}


def whole_completion(reply: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """The same reply for a request without streaming."""
    calls = normal_calls(reply)
    text = reply.get("text", "")
    reasoning = reply.get("reasoning", "")
    style = reply.get("reasoning_style", "reasoning_content")
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if reasoning and style == "think":
        message["content"] = f"<think>{reasoning}</think>{text}"
    elif reasoning:
        message[style] = reasoning
    if calls:
        message["tool_calls"] = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
            for c in calls
        ]
    chars = len(text) + sum(len(c["arguments"]) for c in calls)
    body = {
        "id": f"chatcmpl-{next(_serial):06d}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.get("model", "stub-model"),
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": reply.get("finish_reason", "tool_calls" if calls else "stop"),
            }
        ],
    }
    usage = usage_of(reply, request, chars)
    if usage:
        body["usage"] = usage
    return body


# --------------------------------------------------------------------------
# HTTP
# --------------------------------------------------------------------------


class _Cut(Exception):
    """The scenario asked for the connection to be cut."""


def _nap(ms: float) -> None:
    if ms > 0:
        time.sleep(min(ms / 1000.0, LIMITS["sleep_s"]))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"
    timeout = 300

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, *args: Any) -> None:
        return

    # -- plumbing
    def _json(self, obj: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(obj).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for k, v in (headers or {}).items():
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(data)

    def _body(self) -> dict[str, Any] | None:
        try:
            n = int(self.headers.get("Content-Length") or 0)
        except ValueError:
            n = -1
        if n < 0 or n > LIMITS["body_bytes"]:
            self.close_connection = True
            self._json({"error": {"message": "request too large"}}, 413)
            return None
        raw = self.rfile.read(n)
        try:
            obj = json.loads(raw or b"{}")
        except ValueError:
            self._json({"error": {"message": "request is not JSON"}}, 400)
            return None
        if not isinstance(obj, dict):
            self._json({"error": {"message": "request is not an object"}}, 400)
            return None
        obj["_bytes"] = n
        return obj

    # -- verbs
    def do_GET(self) -> None:
        path = self.path.split("?", 1)[0]
        if path in ("/v1/models", "/models"):
            data = [
                {
                    "id": m["id"],
                    "object": "model",
                    "created": 0,
                    "owned_by": "stub",
                    "max_model_len": m.get("context", 131072),
                }
                for m in self.server.scenario.models
            ]
            self._json({"object": "list", "data": data})
        elif path == "/stub/log":
            self._json({"log": self.server.snapshot()})
        elif path == "/stub/health":
            self._json({"ok": True})
        else:
            self._json({"error": {"message": "no such path"}}, 404)

    def do_POST(self) -> None:
        start = time.monotonic()
        path = self.path.split("?", 1)[0]
        body = self._body()
        if body is None:
            return
        size = body.pop("_bytes")
        if path == "/stub/scenario":
            try:
                self.server.scenario = Scenario(body)
            except ScenarioError as exc:
                self._json({"error": {"message": str(exc)}}, 400)
                return
            self.server.clear()
            self._json({"ok": True})
        elif path == "/stub/reset":
            self.server.scenario = Scenario(self.server.scenario.doc)
            self.server.clear()
            self._json({"ok": True})
        elif path in ("/v1/chat/completions", "/chat/completions"):
            self._chat(body, size, start)
        else:
            self._json({"error": {"message": "no such path"}}, 404)

    def _chat(self, req: dict[str, Any], size: int, start: float) -> None:
        if not self.server.take_request():
            self.close_connection = True
            self._json({"error": {"message": "the stub's request limit is spent"}}, 503)
            return
        chosen, reply = self.server.scenario.choose(req)
        rec: dict[str, Any] = {
            "start": start,
            "chosen": chosen,
            "stream": bool(req.get("stream")),
            "messages": len(req.get("messages") or []),
            "tools": len(req.get("tools") or []),
            "request_bytes": size,
            "events": 0,
            "outcome": "ok",
        }
        if self.server.keep_requests:
            rec["request"] = req
        try:
            _nap(reply.get("first_delay_ms", 0))
            if reply.get("status", 200) != 200:
                rec["outcome"] = f"status {reply['status']}"
                headers = {"Retry-After": str(reply["retry_after"])} if "retry_after" in reply else {}
                err = reply.get("error") or {
                    "message": f"scripted {reply['status']}",
                    "type": "stub",
                    "code": None,
                }
                self._json({"error": err}, reply["status"], headers)
            elif req.get("stream"):
                self._stream(reply, req, rec)
            else:
                if reply.get("disconnect_after") is not None:
                    raise _Cut
                self._json(whole_completion(reply, req))
        except _Cut:
            rec["outcome"] = "cut"
            self._cut(bool(reply.get("disconnect_clean")))
        except (BrokenPipeError, ConnectionResetError):
            rec["outcome"] = "client left"
            self.close_connection = True
        finally:
            rec["end"] = time.monotonic()
            self.server.record(rec)

    def _cut(self, clean: bool) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            if not clean:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.shutdown(socket.SHUT_RDWR) if clean else None
            self.connection.close()

    def _stream(self, reply: dict[str, Any], req: dict[str, Any], rec: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        delay = reply.get("delay_ms", 0)
        buf = bytearray()

        def put(data: bytes) -> None:
            buf.extend(b"%x\r\n%s\r\n" % (len(data), data))
            if delay or len(buf) > 32768:
                flush()

        def flush() -> None:
            if buf:
                self.wfile.write(bytes(buf))
                buf.clear()

        cut = reply.get("disconnect_after")
        n = 0
        for n, event in enumerate(stream_events(reply, req)):
            if n >= LIMITS["events"]:
                break
            if cut is not None and n >= cut:
                flush()
                raise _Cut
            if reply.get("stall_after") == n:
                flush()
                _nap(reply.get("stall_ms", 0))
            if reply.get("garbage_after") == n:
                put(b"data: {not json\n\n")
            if reply.get("error_event_after") == n:
                err = reply.get("error") or {"message": "scripted in-band error", "code": 500}
                put(b"data: " + json.dumps({"error": err}).encode() + b"\n\n")
            if reply.get("comment_every") and n % reply["comment_every"] == 0:
                put(b": ping\n\n")
            put(b"data: " + json.dumps(event).encode() + b"\n\n")
            rec["events"] = n + 1
            _nap(delay)
        if cut is not None:
            flush()
            raise _Cut
        if not reply.get("no_done"):
            put(b"data: [DONE]\n\n")
        buf.extend(b"0\r\n\r\n")
        flush()


class _Server(ThreadingMixIn, HTTPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, port: int, scenario: Scenario, keep_requests: bool) -> None:
        self.scenario = scenario
        self.keep_requests = keep_requests
        self._log: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._left = int(LIMITS["requests"])
        self._slots = threading.BoundedSemaphore(int(LIMITS["connections"]))
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        # http.server looks the host name up in DNS here; a stub must not.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return client_address[0] == "127.0.0.1"

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._slots.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._slots.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        exc = sys.exc_info()[1]
        if not isinstance(exc, (ConnectionError, TimeoutError, OSError, ValueError)):
            super().handle_error(request, client_address)

    def take_request(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left >= 0

    def record(self, rec: dict[str, Any]) -> None:
        with self._lock:
            if len(self._log) < LIMITS["log_records"]:
                self._log.append(rec)

    def snapshot(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._log)

    def clear(self) -> None:
        with self._lock:
            self._log.clear()


class StubServer:
    """The stub in a background thread; a context manager."""

    def __init__(self, scenario: dict[str, Any], port: int = 0, keep_requests: bool = False) -> None:
        self._server = _Server(port, Scenario(scenario), keep_requests)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="stub-openai", daemon=True
        )

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def set(self, scenario: dict[str, Any]) -> None:
        self._server.scenario = Scenario(scenario)
        self._server.clear()

    def log(self) -> list[dict[str, Any]]:
        return self._server.snapshot()

    def __enter__(self) -> "StubServer":
        self._thread.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._server.shutdown()
        self._server.server_close()


class StubClient:
    """The same handle for a stub that runs in another process."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.base_url = f"http://127.0.0.1:{port}/v1"

    def _call(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        req = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data=data, headers={"Content-Type": "application/json"}
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(req, timeout=30) as resp:
            return json.load(resp)

    def set(self, scenario: dict[str, Any]) -> None:
        self._call("/stub/scenario", scenario)

    def log(self) -> list[dict[str, Any]]:
        return self._call("/stub/log")["log"]


def main(argv: list[str] | None = None) -> int:
    ap = argparse.ArgumentParser(description="Scripted OpenAI-compatible chat server on 127.0.0.1.")
    ap.add_argument("scenario", type=pathlib.Path, help="scenario JSON file")
    ap.add_argument("--port", type=int, default=0, help="0 picks a free one")
    ap.add_argument("--port-file", type=pathlib.Path, help="write the port here once listening")
    ap.add_argument("--lifetime", type=float, default=600.0, help="stop after this many seconds")
    ap.add_argument("--keep-requests", action="store_true", help="keep request bodies in the log")
    ns = ap.parse_args(argv)
    try:
        doc = json.loads(ns.scenario.read_text())
        stub = StubServer(doc, ns.port, ns.keep_requests)
    except (OSError, ValueError) as exc:
        print(f"stub: {exc}", file=sys.stderr)
        return 2
    with stub:
        if ns.port_file:
            tmp = ns.port_file.with_suffix(".part")
            tmp.write_text(str(stub.port))
            tmp.replace(ns.port_file)
        print(stub.base_url, flush=True)
        end = time.monotonic() + min(ns.lifetime, LIMITS["lifetime_s"])
        with contextlib.suppress(KeyboardInterrupt):
            while time.monotonic() < end:
                time.sleep(0.2)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
