"""Calls between special tokens: Mistral, DeepSeek, Kimi, Llama's python tag, Gemma."""

from __future__ import annotations

from rescue_cases.case import LS, READ, Case, call

M = "[TOOL_CALLS]"
OBJECT = '{"command": "ls -la"}'
L = '{"name": "bash", "arguments": {"command": "ls -la"}}'
R = '{"name": "read_file", "arguments": {"path": "src/app.py"}}'
V3 = f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n```json\n{OBJECT}\n```<｜tool▁call▁end｜>"
V3_READ = V3.replace("bash", "read_file").replace('{"command": "ls -la"}', '{"path": "src/app.py"}')
V31 = f"<｜tool▁call▁begin｜>bash<｜tool▁sep｜>{OBJECT}<｜tool▁call▁end｜>"
V31_READ = '<｜tool▁call▁begin｜>read_file<｜tool▁sep｜>{"path": "src/app.py"}<｜tool▁call▁end｜>'
BEGIN, END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
KIMI = f"<|tool_call_begin|>functions.bash:0<|tool_call_argument_begin|>{OBJECT}<|tool_call_end|>"
KIMI_READ = (
    '<|tool_call_begin|>functions.read_file:1<|tool_call_argument_begin|>{"path": "src/app.py"}<|tool_call_end|>'
)
SECTION, SECTION_END = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"

CASES = [
    Case("mistral v3", f"{M}[{L}]", calls=[LS]),
    Case("mistral v3, spaced and ended", f"{M} [{L}]</s>", calls=[LS]),
    Case("mistral v3, several with ids", f'{M}[{L[:-1]}, "id": "abcdefghi"}}, {R}]', calls=[LS, READ]),
    Case("mistral after text", f"I will look.{M}[{L}]", "I will look.", calls=[LS]),
    Case(
        "mistral v3, arguments in a string",
        f'{M}[{{"name": "bash", "arguments": "{{\\"command\\": \\"ls -la\\"}}"}}]',
        calls=[LS],
    ),
    Case("mistral v11", f"{M}bash[ARGS]{OBJECT}", calls=[LS]),
    Case("mistral v11, several", f'{M}bash[ARGS]{OBJECT}{M}read_file[ARGS]{{"path": "src/app.py"}}', calls=[LS, READ]),
    Case("mistral v11 with call ids", f"{M}bash[CALL_ID]VvvODy9mT[ARGS]{OBJECT}", calls=[LS]),
    Case("mistral v11, ended", f"{M}bash[ARGS]{OBJECT}</s>", calls=[LS]),
    Case("mistral without [ARGS]", f"{M}bash{OBJECT}", calls=[LS]),
    Case("mistral, the marker swallowed", f"bash[ARGS]{OBJECT}", calls=[LS]),
    Case("mistral v3, the marker swallowed", f"[{L}]", calls=[LS]),
    Case(
        "mistral v11, broken JSON",
        f'{M}bash[ARGS]{{"command": "echo "x""}}',
        calls=[call("bash", '{"command": "echo "x""}')],
    ),
    Case(
        "mistral, reasoning before it",
        f"[THINK]I list.[/THINK]Looking.{M}bash[ARGS]{OBJECT}",
        "Looking.",
        "I list.",
        [LS],
    ),
    Case("deepseek v3", f"{BEGIN}{V3}{END}", calls=[LS]),
    Case("deepseek v3, several", f"{BEGIN}{V3}\n{V3_READ}{END}<｜end▁of▁sentence｜>", calls=[LS, READ]),
    Case("deepseek v3 after text", f"I will look.{BEGIN}{V3}{END}", "I will look.", calls=[LS]),
    Case("deepseek r1", f"<think>\nI list.\n</think>\n\n{BEGIN}{V3}{END}", reasoning="I list.", calls=[LS]),
    Case(
        "deepseek r1, opening tag in the prompt",
        f"I list.\n</think>\n\nLooking.{BEGIN}{V3}{END}",
        "Looking.",
        "I list.",
        [LS],
    ),
    Case("deepseek v3.1", f"{BEGIN}{V31}{END}", calls=[LS]),
    Case("deepseek v3.1, several", f"{BEGIN}{V31}{V31_READ}{END}", calls=[LS, READ]),
    Case("deepseek, the list's marker missing", V31, calls=[LS]),
    Case("deepseek, the list's end missing", f"{BEGIN}{V31}", calls=[LS]),
    Case("deepseek flattened to ASCII", f"{BEGIN}{V31}{END}".replace("｜", "|"), calls=[LS]),
    Case("deepseek with underscores", f"{BEGIN}{V31}{END}".replace("▁", "_"), calls=[LS]),
    Case(
        "deepseek, broken JSON",
        f'{BEGIN}<｜tool▁call▁begin｜>bash<｜tool▁sep｜>{{"command": "echo "x""}}<｜tool▁call▁end｜>{END}',
        calls=[call("bash", '{"command": "echo "x""}')],
    ),
    Case(
        "deepseek, a fence inside the object",
        f'{BEGIN}<｜tool▁call▁begin｜>function<｜tool▁sep｜>write_file\n```json\n{{"path": "a.md", "content": "```py\\nx\\n```"}}\n```<｜tool▁call▁end｜>{END}',
        calls=[call("write_file", path="a.md", content="```py\nx\n```")],
    ),
    Case("kimi", f"{SECTION}{KIMI}{SECTION_END}", calls=[LS]),
    Case("kimi, several", f"{SECTION}{KIMI}{KIMI_READ}{SECTION_END}", calls=[LS, READ]),
    Case("kimi after text", f"I will look.{SECTION}{KIMI}{SECTION_END}", "I will look.", calls=[LS]),
    Case(
        "kimi with blanks",
        f"{SECTION} <|tool_call_begin|> functions.bash:3 <|tool_call_argument_begin|> {OBJECT} <|tool_call_end|> {SECTION_END}",
        calls=[LS],
    ),
    Case("kimi without a section", KIMI, calls=[LS]),
    Case("kimi, a plain id", f"{SECTION}{KIMI.replace('functions.', '')}{SECTION_END}", calls=[LS]),
    Case(
        "kimi after reasoning", f"◁think▷I list.◁/think▷{SECTION}{KIMI}{SECTION_END}", reasoning="I list.", calls=[LS]
    ),
    Case("python tag, a record", '<|python_tag|>{"name": "bash", "parameters": {"command": "ls -la"}}', calls=[LS]),
    Case(
        "python tag, records",
        '<|python_tag|>{"name": "bash", "parameters": {"command": "ls -la"}}; {"name": "read_file", "parameters": {"path": "src/app.py"}}<|eom_id|>',
        calls=[LS, READ],
    ),
    Case("python tag, a call", '<|python_tag|>bash.call(command="ls -la")', calls=[LS]),
    Case("python tag, a call, ended", '<|python_tag|>bash.call(command="ls -la")<|eom_id|>', calls=[LS]),
    Case("python tag, a plain call", '<|python_tag|>bash(command="ls -la")<|eot_id|>', calls=[LS]),
    Case(
        "python tag after text",
        'Looking.<|python_tag|>{"name": "bash", "parameters": {"command": "ls -la"}}<|eom_id|>',
        "Looking.",
        calls=[LS],
    ),
    Case("python tag, code", "<|python_tag|>import math\nprint(math.pi)<|eom_id|>", "import math\nprint(math.pi)"),
    Case("llama 4", '<|python_start|>[bash(command="ls -la")]<|python_end|>', calls=[LS]),
    Case(
        "function gemma",
        "<start_function_call>call:bash{command:<escape>ls -la<escape>}<end_function_call>",
        calls=[LS],
    ),
    Case(
        "function gemma, several values",
        "<start_function_call>call:read_file{path:<escape>src/app.py<escape>,offset:10,limit:5}<end_function_call>",
        calls=[call("read_file", path="src/app.py", offset=10, limit=5)],
    ),
    Case(
        "function gemma, punctuation in a value",
        "<start_function_call>call:bash{command:<escape>echo {a,b}:c<escape>}<end_function_call>",
        calls=[call("bash", command="echo {a,b}:c")],
    ),
    Case("gemma 4", '<|tool_call>call:bash{command:<|"|>ls -la<|"|>}<tool_call|>', calls=[LS]),
    Case(
        "gemma 4, nested",
        '<|tool_call>call:run{a:{b:[1,<|"|>x<|"|>,true]},n:2.5}<tool_call|>',
        calls=[call("run", a={"b": [1, "x", True]}, n=2.5)],
    ),
    Case(
        "gemma 4 after reasoning",
        '<|channel>thought\nI list.<channel|><|tool_call>call:bash{command:<|"|>ls -la<|"|>}<tool_call|>',
        reasoning="I list.",
        calls=[LS],
    ),
]
