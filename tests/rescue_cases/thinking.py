"""Reasoning in the text, apart from the answer."""

from __future__ import annotations

from rescue_cases.case import LS, Case

L = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls -la"}}\n</tool_call>'

CASES = [
    Case("think", "<think>I add.</think>4", "4", "I add."),
    Case("think over lines", "<think>\nI add.\nTwice.\n</think>\n\nIt is 4.\n", "It is 4.", "I add.\nTwice."),
    Case("think, empty", "<think>\n\n</think>\n\nHello.", "Hello."),
    Case("think, no opening tag", "I add.\n</think>\n\nIt is 4.", "It is 4.", "I add."),
    Case("think, no opening tag, no line break", "I add.</think>It is 4.", "It is 4.", "I add."),
    Case("think, no opening tag, a call", f"I list.\n</think>\n{L}", reasoning="I list.", calls=[LS]),
    Case("think, never closed", "<think>I add and add", reasoning="I add and add"),
    Case("think, never closed before a call", f"<think>I should list.\n{L}", reasoning="I should list.", calls=[LS]),
    Case("think, a call drafted inside", f"<think>Maybe {L} or so.</think>No need.", "No need.", f"Maybe {L} or so."),
    Case(
        "think, talks about tags",
        '<think>The `<tool_call>` tag {"name": 1}.</think>Yes.',
        "Yes.",
        'The `<tool_call>` tag {"name": 1}.',
    ),
    Case("think and call", f"<think>I list.</think>\n\n{L}", reasoning="I list.", calls=[LS]),
    Case("think, text, call", f"<think>I list.</think>\nLooking.\n{L}", "Looking.", "I list.", [LS]),
    Case("think twice", "<think>One.</think>First.\n<think>Two.</think>\nSecond.", "First.\n\nSecond.", "One.\nTwo."),
    Case("think after blanks", "\n  <think>I add.</think>\n4", "4", "I add."),
    Case("thinking", "<thinking>I add.</thinking>\n4", "4", "I add."),
    Case("magistral", "[THINK]I add.[/THINK]4", "4", "I add."),
    Case("kimi", "◁think▷I add.◁/think▷4", "4", "I add."),
    Case("seed", "<seed:think>I add.</seed:think>4", "4", "I add."),
    Case("cohere", "<|START_THINKING|>I add.<|END_THINKING|><|START_RESPONSE|>4<|END_RESPONSE|>", "4", "I add."),
    Case(
        "begin_of_thought",
        "<|begin_of_thought|>I add.<|end_of_thought|>\n<|begin_of_solution|>4<|end_of_solution|>",
        "4",
        "I add.",
    ),
    Case("reasoning tag", "<reasoning>\nI add.\n</reasoning>\n4", "4", "I add."),
    Case("gemma 4", "<|channel>thought\nI add.<channel|>4", "4", "I add."),
    Case("think keeps its code", "<think>\n```py\nx = '<b>'\n```\n</think>\nDone.", "Done.", "```py\nx = '<b>'\n```"),
    Case("think with a stray second end", "<think>I add.</think>\n</think>\n4", "4", "I add."),
]
