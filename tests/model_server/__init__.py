"""A scripted OpenAI-compatible chat server for tests and benchmarks: standard library, loopback only, bounded.

It never talks to a model. Each chat request is answered from a scenario, a JSON document::

    {
      "models":    [{"id": "stub-model", "context": 131072}],
      "defaults":  {"chunk_chars": 24, "delay_ms": 0, "arg_chunk_chars": 16, "usage": "auto"},
      "mode":      "turn" | "sequence" | "cycle",
      "replies":   [reply, ...],
      "rules":     [{"when": {...}, "reply": reply}, ...],
      "refuses":   {"max_tokens": null, "tools": "this model does not support tools"},
      "key":       "secret",
      "strict":    true,
      "paths":     {"/props": {...}, "/api/show": {...}},
      "prefix":    "/v1"
    }

Which reply a request gets
  1. the first rule whose `when` holds (all keys must hold: `system_contains`, `last_contains`, `last_role`,
     `has_tools`, `has` (a parameter's name), `model`, `stream`, `nth` (0-based count of requests that reached this
     test), `max_hits` (the rule retires after that many uses));
  2. otherwise `replies`: mode "turn" (default) takes the number of assistant messages since the last user message, so
     that sessions do not disturb one another; "sequence" the number of requests served so far, staying on the last;
     "cycle" the same, wrapping round.

What holds for every request
  refuses   a request with one of these parameters gets a 400 that names it (null: the usual words of OpenAI)
  key       a request without this bearer key gets a 401
  strict    a history that a strict endpoint would not take gets a 400 that says why (see `legality`)
  paths     further GET and POST paths with their JSON answers: what Ollama, llama.cpp and others say of a model
  models    listed by /models; `context` becomes max_model_len, all else is listed as it stands

Reply fields, all optional
  text, reasoning    streamed, reasoning first; `reasoning_style`: "reasoning_content" (default), "reasoning", "think"
  tool_calls         [{"name", "arguments", "id"?}]; `arguments` is a JSON value, or a string that is sent exactly as
                     it stands, so broken JSON and bare strings are just strings; "id": null or "" is sent so
  interleave         fragments of parallel calls alternate
  repeat_id          every fragment repeats id and name            omit_index   fragments carry no index
  same_index         every call says index 0                       late_name    the name comes after the arguments
  calls_whole        all calls in one event, as Ollama sends them  object_arguments  arguments as an object
  chunk_chars, arg_chunk_chars, delay_ms, first_delay_ms
  usage              "auto" | {"prompt_tokens", "completion_tokens"} | false; `usage_with_finish`: on the last chunk
  finish_reason      overrides stop / tool_calls; null sends none  no_done      leaves out `data: [DONE]`
  status             an HTTP error; with `retry_after`, `headers`, `error` ({"message", "type", "code"}) or `error_body`
                     (sent as it stands; a string as text)
  drop               closes the connection before any answer
  disconnect_after   cuts the connection after that many events (by RST; `disconnect_clean`: by FIN)
  hold_after         waits there until `StubServer.release()`      stall_after, stall_ms  pauses there once
  comment_every      sends ": ping" every N events                 comments_ms  sends ": ping" while it holds, each N ms
  garbage_after      sends a line that is not JSON                 error_event_after  sends {"error": `error`}
  whole              answers in one JSON body though a stream was asked for
  raw_events         JSON values sent instead of all of the above  raw_body     text sent instead, `content_type`

Every request is kept: `log()` gives one record each, from the moment it arrives; `requests()` gives the bodies.
GET /stub/log, POST /stub/scenario, POST /stub/reset, POST /stub/release do the same from another process.

    with StubServer({"replies": [{"text": "hi"}]}) as stub:
        client = OpenAI(base_url=stub.base_url, api_key="x")

    PYTHONPATH=tests python3 -m model_server scenario.json --port 0 --port-file /tmp/port
"""

from model_server.handle import StubClient, StubServer
from model_server.scenario import Scenario, ScenarioError

__all__ = ["Scenario", "ScenarioError", "StubClient", "StubServer"]
