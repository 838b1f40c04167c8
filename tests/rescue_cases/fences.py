"""Fenced blocks: calls where they hold nothing but calls of real tools, text in every other case."""

from __future__ import annotations

from rescue_cases.case import LS, READ, Case, call

L = '{"name": "bash", "arguments": {"command": "ls -la"}}'
R = '{"name": "read_file", "parameters": {"path": "src/app.py"}}'


def text(name: str, value: str) -> Case:
    """An output that is all text."""
    return Case(name, value, value)


CASES = [
    Case("fenced json", f"```json\n{L}\n```", calls=[LS]),
    Case(
        "fenced json after text", f"I will list the files.\n\n```json\n{L}\n```", "I will list the files.", calls=[LS]
    ),
    Case("fenced json before text", f"```json\n{R}\n```\nThis reads the file.", "This reads the file.", calls=[READ]),
    Case("fenced without a language", f"```\n{L}\n```", calls=[LS]),
    Case("fenced on one line", f"```json {L} ```", calls=[LS]),
    Case("fenced behind words", f"Sure: ```json\n{L}\n```", "Sure:", calls=[LS]),
    Case(
        "fenced, pretty-printed",
        '```json\n{\n    "name": "bash",\n    "arguments": {\n        "command": "ls -la"\n    }\n}\n```',
        calls=[LS],
    ),
    Case("fenced twice", f"```json\n{L}\n```\n\n```json\n{R}\n```", calls=[LS, READ]),
    Case("a fenced list", f"```json\n[{L}, {R}]\n```", calls=[LS, READ]),
    Case("two records in a fence", f"```json\n{L}\n{R}\n```", calls=[LS, READ]),
    Case("fenced tool_call", f"```tool_call\n{L}\n```", calls=[LS]),
    Case("fenced, indented", f"1. List:\n   ```json\n   {L}\n   ```", "1. List:", calls=[LS]),
    Case(
        "fenced, a fence in a string",
        '```json\n{"name": "write_file", "arguments": {"path": "a.md", "content": "```\\nx\\n```"}}\n```',
        calls=[call("write_file", path="a.md", content="```\nx\n```")],
    ),
    Case("fenced, a trailing comma", '```json\n{"name": "bash", "arguments": {"command": "ls -la",}}\n```', calls=[LS]),
    Case("fenced, the end missing", f"```json\n{L}", calls=[LS]),
    Case("fenced, one fenced tag alone", f"```xml\n<tool_call>\n{L}\n</tool_call>\n```", calls=[LS]),
    Case("gemma, tool_code", '```tool_code\nbash(command="ls -la")\n```', calls=[LS]),
    Case("gemma, tool_code printed", '```tool_code\nprint(bash(command="ls -la"))\n```', calls=[LS]),
    Case("gemma, tool_code with a module", '```tool_code\nprint(default_api.bash(command="ls -la"))\n```', calls=[LS]),
    Case("gemma, tool_code assigned", '```tool_code\nresult = bash(command="ls -la")\nprint(result)\n```', calls=[LS]),
    Case(
        "gemma, tool_code, a list",
        '```tool_code\n[bash(command="ls -la"), read_file(path="src/app.py")]\n```',
        calls=[LS, READ],
    ),
    Case(
        "gemma, tool_code after text",
        'Okay, I will look.\n```tool_code\nbash(command="ls -la")\n```',
        "Okay, I will look.",
        calls=[LS],
    ),
    Case("gemma, tool_code by place", '```tool_code\nbash("ls -la")\n```', calls=[LS]),
    Case("gemma, a python list", '```python\n[bash(command="ls -la")]\n```', calls=[LS]),
    Case(
        "command r, fenced",
        'Action: ```json\n[\n    {\n        "tool_name": "bash",\n        "parameters": {"command": "ls -la"}\n    }\n]\n```',
        "Action:",
        calls=[LS],
    ),
    text("fenced json of no tool", '```json\n{"name": "turnstone", "version": "1.0"}\n```'),
    text(
        "fenced json of no tool with arguments",
        '```json\n{"name": "deploy", "arguments": {"env": "prod"}}\n```\n\nThat is the record.',
    ),
    text(
        "package.json",
        'Put this into package.json:\n\n```json\n{\n  "name": "search",\n  "version": "1.0.0",\n  "scripts": {"test": "jest"}\n}\n```\n',
    ),
    text(
        "a record with more than a call",
        '```json\n{"name": "bash", "arguments": {"command": "ls"}, "description": "lists"}\n```',
    ),
    text("json data", '```json\n[1, 2, {"name": "bash"}]\n```'),
    text("a config file", 'Use:\n```json\n{\n  "input": {"a": 1},\n  "tool": "webpack"\n}\n```\nas config.'),
    text("python code", '```python\nbash(command="ls -la")\n```'),
    text(
        "python that builds a record",
        '```python\nprint(json.dumps({"name": "bash", "arguments": {"command": "ls"}}))\n```',
    ),
    text("a shell sample", "Run this:\n```bash\nls -la\n```\nand look."),
    text(
        "a sample of the tag", f"A call looks like this:\n\n```xml\n<tool_call>\n{L}\n</tool_call>\n```\n\nThat is all."
    ),
    text("a sample in a longer fence", f"````markdown\n```json\n{L}\n```\n````\n"),
    text("tildes", f"~~~\n<tool_call>{L}</tool_call>\n~~~\nEnd."),
    text("an unclosed code block", "```python\nx = 1\n<tool_call>{}</tool_call>\n"),
    text("a diff", '```diff\n- <tool_call>\n+ {"name": "bash"}\n```'),
    text("jsonc", f"```jsonc\n{L}\n```"),
    text("typescript", "```ts\nconst call = {name: 'bash', arguments: {command: 'ls'}};\n```"),
    text("tool_code of no tool", "```tool_code\nfrobnicate(x=1)\n```"),
]
