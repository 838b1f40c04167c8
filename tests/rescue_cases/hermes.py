"""<tool_call> and its relatives with JSON inside: Hermes, Qwen, ERNIE, Granite, Jamba, Nemotron, Command R ..."""

from __future__ import annotations

from rescue_cases.case import LS, READ, READ_PART, Case, bash, call

L = '{"name": "bash", "arguments": {"command": "ls -la"}}'
R = '{"name": "read_file", "arguments": {"path": "src/app.py"}}'

CASES = [
    Case("hermes", f"<tool_call>\n{L}\n</tool_call>", calls=[LS]),
    Case("hermes on one line", f"<tool_call>{L}</tool_call>", calls=[LS]),
    Case("hermes after text", f"I will look.\n\n<tool_call>\n{L}\n</tool_call>", "I will look.", calls=[LS]),
    Case("hermes on the text's line", f"I will look. <tool_call>{L}</tool_call>", "I will look.", calls=[LS]),
    Case("hermes before text", f"<tool_call>\n{L}\n</tool_call>\nDone.", "Done.", calls=[LS]),
    Case("hermes twice", f"<tool_call>\n{L}\n</tool_call>\n<tool_call>\n{R}\n</tool_call>", calls=[LS, READ]),
    Case("two records in one tag", f"<tool_call>\n{L}\n{R}\n</tool_call>", calls=[LS, READ]),
    Case("a list in one tag", f"<tool_call>[{L}, {R}]</tool_call>", calls=[LS, READ]),
    Case(
        "arguments before the name",
        '<tool_call>{"arguments": {"command": "ls -la"}, "name": "bash"}</tool_call>',
        calls=[LS],
    ),
    Case(
        "parameters for arguments",
        '<tool_call>{"name": "bash", "parameters": {"command": "ls -la"}}</tool_call>',
        calls=[LS],
    ),
    Case(
        "arguments in a string",
        '<tool_call>{"name": "bash", "arguments": "{\\"command\\": \\"ls -la\\"}"}</tool_call>',
        calls=[LS],
    ),
    Case(
        "arguments as a bare string",
        '<tool_call>{"name": "bash", "arguments": "ls -la"}</tool_call>',
        calls=[call("bash", "ls -la")],
    ),
    Case("arguments null", '<tool_call>{"name": "recall", "arguments": null}</tool_call>', calls=[call("recall")]),
    Case("arguments missing", '<tool_call>{"name": "recall"}</tool_call>', calls=[call("recall")]),
    Case(
        "arguments as a list",
        '<tool_call>{"name": "bash", "arguments": ["ls"]}</tool_call>',
        calls=[call("bash", '["ls"]')],
    ),
    Case("arguments laid flat", '<tool_call>{"name": "bash", "command": "ls -la"}</tool_call>', calls=[LS]),
    Case(
        "an OpenAI record",
        '<tool_call>{"type": "function", "function": {"name": "bash", "arguments": {"command": "ls -la"}}}</tool_call>',
        calls=[LS],
    ),
    Case(
        "with an id",
        '<tool_call>{"id": "c1", "name": "bash", "arguments": {"command": "ls -la"}}</tool_call>',
        calls=[LS],
    ),
    Case(
        "numbers, objects and null survive",
        '<tool_call>{"name": "read_file", "arguments": {"path": "src/app.py", "offset": 10, "limit": 5}}</tool_call>',
        calls=[READ_PART],
    ),
    Case(
        "non-ASCII",
        '<tool_call>{"name": "bash", "arguments": {"command": "echo héllo 世界 🎉"}}</tool_call>',
        calls=[bash("echo héllo 世界 🎉")],
    ),
    Case(
        "escapes",
        r'<tool_call>{"name": "bash", "arguments": {"command": "printf \"a\\nb\" \u00e9"}}</tool_call>',
        calls=[bash('printf "a\\nb" é')],
    ),
    Case(
        "raw line breaks in a string",
        '<tool_call>\n{"name": "write_file", "arguments": {"path": "a.py", "content": "x = 1\ny = 2\n"}}\n</tool_call>',
        calls=[call("write_file", path="a.py", content="x = 1\ny = 2\n")],
    ),
    Case(
        "the closing tag inside a string",
        '<tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "ends with </tool_call> here"}}</tool_call>',
        calls=[call("write_file", path="a", content="ends with </tool_call> here")],
    ),
    Case(
        "a call inside a string",
        '<tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "<tool_call>{}</tool_call>"}}</tool_call>',
        calls=[call("write_file", path="a", content="<tool_call>{}</tool_call>")],
    ),
    Case(
        "a trailing comma", '<tool_call>{"name": "bash", "arguments": {"command": "ls -la",},}</tool_call>', calls=[LS]
    ),
    Case(
        "as Python writes it", "<tool_call>{'name': 'bash', 'arguments': {'command': 'ls -la'}}</tool_call>", calls=[LS]
    ),
    Case(
        "the record's last brace is missing",
        '<tool_call>\n{"name": "bash", "arguments": {"command": "ls -la"}\n</tool_call>',
        calls=[LS],
    ),
    Case("one brace too many", f"<tool_call>\n{L}}}\n</tool_call>", calls=[LS]),
    Case(
        "broken JSON keeps its arguments raw",
        '<tool_call>{"name": "bash", "arguments": {"command": "echo "hi""}}</tool_call>',
        calls=[call("bash", '{"command": "echo "hi""}')],
    ),
    Case("the closing tag is missing", f"<tool_call>\n{L}", calls=[LS]),
    Case(
        "the closing tag is missing between two", f"<tool_call>\n{L}\n<tool_call>\n{R}\n</tool_call>", calls=[LS, READ]
    ),
    Case("the opening tag doubled", f"<tool_call>\n<tool_call>\n{L}\n</tool_call>\n</tool_call>", calls=[LS]),
    Case("the opening tag swallowed", f"{L}\n</tool_call>", calls=[LS]),
    Case("a fence inside the tag", f"<tool_call>\n```json\n{L}\n```\n</tool_call>", calls=[LS]),
    Case(
        "a made-up result after the call",
        f"<tool_call>\n{L}\n</tool_call>\n<tool_response>\nfile.txt\n</tool_response>\nThere is one file.",
        "There is one file.",
        calls=[LS],
    ),
    Case("the end-of-message token leaks", f"<tool_call>\n{L}\n</tool_call><|im_end|>", calls=[LS]),
    Case(
        "a name near a real one",
        '<tool_call>{"name": "readfile", "arguments": {"path": "src/app.py"}}</tool_call>',
        calls=[call("readfile", path="src/app.py")],
    ),
    Case(
        "an unknown name",
        '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>',
        calls=[call("get_weather", city="Paris")],
    ),
    Case(
        "a name with its namespace",
        '<tool_call>{"name": "functions.bash", "arguments": {"command": "ls -la"}}</tool_call>',
        calls=[LS],
    ),
    Case(
        "a name with blanks",
        '<tool_call>{"name": " bash ", "arguments": {"command": "ls -la"}}</tool_call>',
        calls=[LS],
    ),
    Case("Python inside the tag", '<tool_call>bash(command="ls -la")</tool_call>', calls=[LS]),
    Case("name and object inside the tag", '<tool_call>bash\n{"command": "ls -la"}\n</tool_call>', calls=[LS]),
    Case(
        "name and arguments as tags",
        '<tool_call><name>bash</name><arguments>{"command": "ls -la"}</arguments></tool_call>',
        calls=[LS],
    ),
    Case("Qwen 2.5 Coder's <tools>", f"<tools>\n{L}\n</tools>", calls=[LS]),
    Case("<function_call>", f"<function_call>{L}</function_call>", calls=[LS]),
    Case(
        "<functioncall> with its arguments quoted",
        '<functioncall> {"name": "bash", "arguments": \'{"command": "ls -la"}\'}</functioncall>',
        calls=[LS],
    ),
    Case("Jamba", f"<tool_calls>[{L}, {R}]</tool_calls>", calls=[LS, READ]),
    Case("MiniMax M1", f"<tool_calls>\n{L}\n{R}\n</tool_calls>", calls=[LS, READ]),
    Case(
        "calls inside calls",
        f"<tool_calls>\n<tool_call>{L}</tool_call>\n<tool_call>{R}</tool_call>\n</tool_calls>",
        calls=[LS, READ],
    ),
    Case("Nemotron", f"<TOOLCALL>[{L}]</TOOLCALL>", calls=[LS]),
    Case("Phi 4 mini", f"<|tool_call|>[{L}]<|/tool_call|>", calls=[LS]),
    Case("Granite 3", f"<|tool_call|>[{L}, {R}]", calls=[LS, READ]),
    Case(
        "Apertus",
        '<|tools_prefix|>[{"bash": {"command": "ls -la"}}, {"read_file": {"path": "src/app.py"}}]<|tools_suffix|>',
        calls=[LS, READ],
    ),
    Case(
        "Command R",
        '<|START_THINKING|>I will list.<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "bash", "parameters": {"command": "ls -la"}}\n]<|END_ACTION|>',
        reasoning="I will list.",
        calls=[LS],
    ),
    Case(
        "InternLM",
        '<|action_start|><|plugin|>{"name": "bash", "parameters": {"command": "ls -la"}}<|action_end|>',
        calls=[LS],
    ),
    Case(
        "LFM 2",
        '<|tool_call_start|>[bash(command="ls -la"), read_file(path="src/app.py")]<|tool_call_end|>Looking.',
        "Looking.",
        calls=[LS, READ],
    ),
    Case(
        "Olmo",
        '<function_calls>\nbash(command="ls -la")\nread_file(path="src/app.py")\n</function_calls>',
        calls=[LS, READ],
    ),
    Case("functools", f"functools[{L}]", calls=[LS]),
    Case("functools after a blank", f" functools[{L}, {R}]", calls=[LS, READ]),
]
