"""gpt-oss: OpenAI's Harmony format."""

from __future__ import annotations

from rescue_cases.case import LS, READ, Case, call

THINK = "<|channel|>analysis<|message|>I list.<|end|>"
CALL = '<|start|>assistant<|channel|>commentary to=functions.bash <|constrain|>json<|message|>{"command": "ls -la"}<|call|>'

CASES = [
    Case("harmony, final only", "<|channel|>final<|message|>Hello there.<|return|>", "Hello there."),
    Case(
        "harmony, reasoning and answer",
        THINK + "<|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
        "Hello.",
        "I list.",
    ),
    Case("harmony, reasoning and call", THINK + CALL, reasoning="I list.", calls=[LS]),
    Case("harmony, the call token swallowed", THINK + CALL.removesuffix("<|call|>"), reasoning="I list.", calls=[LS]),
    Case(
        "harmony, the recipient in the role",
        THINK
        + CALL.replace(
            "assistant<|channel|>commentary to=functions.bash ", "assistant to=functions.bash<|channel|>commentary"
        ),
        reasoning="I list.",
        calls=[LS],
    ),
    Case("harmony, no constrain", THINK + CALL.replace(" <|constrain|>json", ""), reasoning="I list.", calls=[LS]),
    Case("harmony, json in plain", THINK + CALL.replace("<|constrain|>json", "json"), reasoning="I list.", calls=[LS]),
    Case(
        "harmony, a call in analysis", THINK + CALL.replace("commentary", "analysis"), reasoning="I list.", calls=[LS]
    ),
    Case("harmony, a call alone", CALL.removeprefix("<|start|>assistant"), calls=[LS]),
    Case("harmony, whole with its start", "<|start|>assistant" + THINK + CALL, reasoning="I list.", calls=[LS]),
    Case(
        "harmony, a preamble is shown",
        THINK + "<|start|>assistant<|channel|>commentary<|message|>I will look.<|end|>" + CALL,
        "I will look.",
        "I list.",
        [LS],
    ),
    Case(
        "harmony, two calls",
        CALL
        + '<|start|>assistant<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path": "src/app.py"}<|call|>',
        calls=[LS, READ],
    ),
    Case(
        "harmony, two thoughts",
        THINK + "<|start|>assistant<|channel|>analysis<|message|>Then read.<|end|>" + CALL,
        reasoning="I list.\nThen read.",
        calls=[LS],
    ),
    Case("harmony, a bare string", CALL.replace('{"command": "ls -la"}', "ls -la"), calls=[call("bash", "ls -la")]),
    Case(
        "harmony, broken JSON",
        CALL.replace('{"command": "ls -la"}', '{"command": "echo "x""}'),
        calls=[call("bash", '{"command": "echo "x""}')],
    ),
    Case(
        "harmony, no arguments",
        CALL.replace("functions.bash", "functions.recall").replace('{"command": "ls -la"}', "{}"),
        calls=[call("recall")],
    ),
    Case(
        "harmony, a made-up result",
        CALL
        + "<|start|>functions.bash to=assistant<|channel|>commentary<|message|>file.txt<|end|><|start|>assistant<|channel|>final<|message|>One file.<|return|>",
        "One file.",
        calls=[LS],
    ),
    Case(
        "harmony, no end before the next",
        "<|channel|>analysis<|message|>I list." + CALL,
        reasoning="I list.",
        calls=[LS],
    ),
    Case(
        "harmony, code in the answer",
        '<|channel|>final<|message|>Use:\n```json\n{"name": "bash", "arguments": {}}\n```\n<|return|>',
        'Use:\n```json\n{"name": "bash", "arguments": {}}\n```',
    ),
    Case(
        "harmony, the builtin python",
        "<|channel|>analysis to=python code<|message|>print(1)<|call|>",
        calls=[call("python", "print(1)")],
    ),
    Case(
        "harmony, an escaped object",
        CALL.replace("ls -la", r"printf \"a\"\n"),
        calls=[call("bash", command='printf "a"\n')],
    ),
]
