"""Calls without a marker: Llama's JSON, lists of Python calls, ReAct."""

from __future__ import annotations

from rescue_cases.case import LS, READ, Case, bash, call

P = '{"name": "bash", "parameters": {"command": "ls -la"}}'
A = '{"name": "read_file", "arguments": {"path": "src/app.py"}}'

CASES = [
    Case("llama json", P, calls=[LS]),
    Case("llama json, arguments", A, calls=[READ]),
    Case("llama json, blanks around it", f"\n\n {P}\n", calls=[LS]),
    Case(
        "llama json over lines", '{\n  "name": "bash",\n  "parameters": {\n    "command": "ls -la"\n  }\n}', calls=[LS]
    ),
    Case("llama json, typed", '{"type": "function", "name": "bash", "parameters": {"command": "ls -la"}}', calls=[LS]),
    Case(
        "llama json, function inside",
        '{"type": "function", "function": {"name": "bash", "arguments": "{\\"command\\": \\"ls -la\\"}"}}',
        calls=[LS],
    ),
    Case("llama json, two by semicolon", f"{P}; {A}", calls=[LS, READ]),
    Case("llama json, two by line", f"{P}\n{A}", calls=[LS, READ]),
    Case("llama json, ended", f"{P}<|eot_id|>", calls=[LS]),
    Case("llama json as the last part", f"I will look at the files.\n\n{P}", "I will look at the files.", calls=[LS]),
    Case("llama json, words on the next line", f"{P}\n\nThis lists the files.", "This lists the files.", calls=[LS]),
    Case(
        "llama json, a name near a real one",
        '{"name": "read-file", "parameters": {"path": "src/app.py"}}',
        calls=[call("read-file", path="src/app.py")],
    ),
    Case(
        "llama json, broken",
        '{"name": "bash", "parameters": {"command": "echo "x""}}',
        calls=[call("bash", '{"command": "echo "x""}')],
    ),
    Case("llama json after reasoning", f"<think>I list.</think>\n{P}", reasoning="I list.", calls=[LS]),
    Case("tool_calls record", f'{{"tool_calls": [{P}, {A}]}}', calls=[LS, READ]),
    Case(
        "multi_tool_use",
        '{"tool_uses": [{"recipient_name": "functions.bash", "parameters": {"command": "ls -la"}}]}',
        calls=[LS],
    ),
    Case("langchain's names", '{"action": "bash", "action_input": {"command": "ls -la"}}', calls=[LS]),
    Case("tool and args", '{"tool": "bash", "args": {"command": "ls -la"}}', calls=[LS]),
    Case("xlam, a list", f"[{P}, {A}]", calls=[LS, READ]),
    Case("pythonic", '[bash(command="ls -la")]', calls=[LS]),
    Case("pythonic, several", '[bash(command="ls -la"), read_file(path="src/app.py")]', calls=[LS, READ]),
    Case(
        "pythonic, single quotes and numbers",
        "[read_file(path='src/app.py', offset=10, limit=5)]",
        calls=[call("read_file", path="src/app.py", offset=10, limit=5)],
    ),
    Case(
        "pythonic, json's literals",
        "[task(prompt='x', deep=true, none=null)]",
        calls=[call("task", prompt="x", deep=True, none=None)],
    ),
    Case("pythonic, brackets in a string", "[bash(command=\"echo ']) ('\")]", calls=[bash("echo ']) ('")]),
    Case("pythonic, ended", '[bash(command="ls -la")]<|eot_id|>', calls=[LS]),
    Case("pythonic after text", 'I will look.\n[bash(command="ls -la")]', "I will look.", calls=[LS]),
    Case("pythonic, its primary argument by place", '[bash("ls -la")]', calls=[LS]),
    Case("a call alone", 'bash(command="ls -la")', calls=[LS]),
    Case("calls alone, one a line", 'bash(command="ls -la")\nread_file(path="src/app.py")', calls=[LS, READ]),
    Case(
        "a call over lines",
        'write_file(\n    path="a.py",\n    content="""x = 1\n"""\n)',
        calls=[call("write_file", path="a.py", content="x = 1\n")],
    ),
    Case(
        "react",
        'Thought: I should list.\nAction: bash\nAction Input: {"command": "ls -la"}',
        "Thought: I should list.",
        calls=[LS],
    ),
    Case("react, a bare line", "Action: bash\nAction Input: ls -la", calls=[call("bash", "ls -la")]),
]
