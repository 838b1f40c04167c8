"""Calls as XML: Qwen Coder, Llama's <function=...>, GLM, MiniMax, Seed, DeepSeek's DSML."""

from __future__ import annotations

from rescue_cases.case import LS, READ, READ_PART, Case, bash, call

QWEN = "<tool_call>\n<function=bash>\n<parameter=command>\nls -la\n</parameter>\n</function>\n</tool_call>"
PART = (
    "<tool_call>\n<function=read_file>\n<parameter=path>\nsrc/app.py\n</parameter>\n<parameter=offset>\n10\n"
    "</parameter>\n<parameter=limit>\n5\n</parameter>\n</function>\n</tool_call>"
)
CODE = 'def f(a: list[int]) -> None:\n    if a < 3 and b > 4:\n        print("</p>")\n'
GLM = "<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls -la</arg_value>\n</tool_call>"
M2 = '<minimax:tool_call>\n<invoke name="bash">\n<parameter name="command">ls -la</parameter>\n</invoke>\n</minimax:tool_call>'
DSML = (
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path" string="true">src/app.py'
    '</｜DSML｜parameter>\n<｜DSML｜parameter name="offset" string="false">10</｜DSML｜parameter>\n'
    '<｜DSML｜parameter name="limit" string="false">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'
)

CASES = [
    Case("qwen coder", QWEN, calls=[LS]),
    Case("qwen coder, typed by the schema", PART, calls=[READ_PART]),
    Case("qwen coder after text", "I'll look at it.\n\n" + QWEN, "I'll look at it.", calls=[LS]),
    Case("qwen coder, several", QWEN + "\n" + PART, calls=[LS, READ_PART]),
    Case(
        "qwen coder, two functions in one tag",
        QWEN.replace("</tool_call>", "")
        + "<function=read_file>\n<parameter=path>\nsrc/app.py\n</parameter>\n</function>\n</tool_call>",
        calls=[LS, READ],
    ),
    Case(
        "qwen coder without the outer tag",
        QWEN.removeprefix("<tool_call>\n").removesuffix("\n</tool_call>"),
        calls=[LS],
    ),
    Case("qwen coder, the opening tag missing", QWEN.removeprefix("<tool_call>\n"), calls=[LS]),
    Case(
        "qwen coder on one line",
        "<tool_call><function=bash><parameter=command>ls -la</parameter></function></tool_call>",
        calls=[LS],
    ),
    Case(
        "qwen coder, code as a value",
        f"<tool_call>\n<function=write_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=content>\n{CODE}</parameter>\n</function>\n</tool_call>",
        calls=[call("write_file", path="a.py", content=CODE.removesuffix("\n"))],
    ),
    Case(
        "qwen coder, a JSON file stays text",
        '<tool_call>\n<function=write_file>\n<parameter=path>\na.json\n</parameter>\n<parameter=content>\n{"a": 1}\n</parameter>\n</function>\n</tool_call>',
        calls=[call("write_file", path="a.json", content='{"a": 1}')],
    ),
    Case(
        "qwen coder, a number as text stays text",
        "<tool_call>\n<function=man>\n<parameter=page>\nprintf\n</parameter>\n<parameter=section>\n3\n</parameter>\n</function>\n</tool_call>",
        calls=[call("man", page="printf", section="3")],
    ),
    Case(
        "qwen coder, blank lines of a value stay",
        "<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=content>\n\n  x\n\n</parameter>\n</function>\n</tool_call>",
        calls=[call("write_file", path="a", content="\n  x\n")],
    ),
    Case(
        "qwen coder, no parameters", "<tool_call>\n<function=recall>\n</function>\n</tool_call>", calls=[call("recall")]
    ),
    Case(
        "qwen coder, </parameter> forgotten",
        "<tool_call>\n<function=read_file>\n<parameter=path>\nsrc/app.py\n<parameter=offset>\n10\n<parameter=limit>\n5\n</function>\n</tool_call>",
        calls=[READ_PART],
    ),
    Case(
        "qwen coder, </function> forgotten",
        "<tool_call>\n<function=bash>\n<parameter=command>\nls -la\n</parameter>\n</tool_call>",
        calls=[LS],
    ),
    Case(
        "qwen coder, a value that names the tag",
        "<tool_call>\n<function=bash>\n<parameter=command>\ngrep '</parameter>' a.xml\n</parameter>\n</function>\n</tool_call>",
        calls=[bash("grep '</parameter>' a.xml")],
    ),
    Case(
        "qwen coder, an unknown tool",
        '<tool_call>\n<function=run>\n<parameter=n>\n3\n</parameter>\n<parameter=deep>\n{"a": [1]}\n</parameter>\n<parameter=s>\nx y\n</parameter>\n</function>\n</tool_call>',
        calls=[call("run", n=3, deep={"a": [1]}, s="x y")],
    ),
    Case("llama's function tag", '<function=bash>{"command": "ls -la"}</function>', calls=[LS]),
    Case(
        "llama's function tag after text",
        'Let me see.\n<function=bash>{"command": "ls -la"}</function><|eom_id|>',
        "Let me see.",
        calls=[LS],
    ),
    Case(
        "llama's function tag, broken JSON",
        '<function=bash>{"command": "echo "x""}</function>',
        calls=[call("bash", '{"command": "echo "x""}')],
    ),
    Case("glm 4.5", GLM, calls=[LS]),
    Case("glm 4.6, without line breaks", GLM.replace("\n", ""), calls=[LS]),
    Case(
        "glm, several pairs",
        "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>src/app.py</arg_value>\n<arg_key>offset</arg_key>\n<arg_value>10</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>5</arg_value>\n</tool_call>",
        calls=[READ_PART],
    ),
    Case("glm, two calls", GLM + "\n" + GLM.replace("bash", "bash").replace("ls -la", "pwd"), calls=[LS, bash("pwd")]),
    Case("glm after reasoning", f"<think>I list.</think>\nListing.\n{GLM}", "Listing.", "I list.", [LS]),
    Case("glm, no arguments", "<tool_call>recall\n</tool_call>", calls=[call("recall")]),
    Case(
        "glm, a value over lines",
        "<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n<arg_key>content</arg_key>\n<arg_value>x = 1\ny = [2, 3]\n</arg_value>\n</tool_call>",
        calls=[call("write_file", path="a.py", content="x = 1\ny = [2, 3]\n")],
    ),
    Case("glm 4, name and object", 'bash\n{"command": "ls -la"}<|observation|>', calls=[LS]),
    Case("minimax m2", M2, calls=[LS]),
    Case("minimax m2 after text", "Looking.\n" + M2, "Looking.", calls=[LS]),
    Case(
        "minimax m2, two calls",
        M2.replace(
            "\n</minimax:tool_call>",
            '\n<invoke name="read_file">\n<parameter name="path">src/app.py</parameter>\n</invoke>\n</minimax:tool_call>',
        ),
        calls=[LS, READ],
    ),
    Case(
        "invoke without an outer tag",
        '<invoke name="bash">\n<parameter name="command">ls -la</parameter>\n</invoke>',
        calls=[LS],
    ),
    Case(
        "invoke in function_calls",
        '<function_calls>\n<invoke name="bash">\n<parameter name="command">ls -la</parameter>\n</invoke>\n</function_calls>',
        calls=[LS],
    ),
    Case(
        "invoke, escaped value",
        '<invoke name="bash"><parameter name="command">echo a &amp;&amp; echo &lt;b&gt;</parameter></invoke>',
        calls=[bash("echo a && echo <b>")],
    ),
    Case(
        "invoke, unescaped value",
        '<invoke name="bash"><parameter name="command">cat <a &amp;& echo</parameter></invoke>',
        calls=[bash("cat <a &amp;& echo")],
    ),
    Case("deepseek v3.2", DSML, calls=[READ_PART]),
    Case("deepseek v3.2 after text", "Let me read.\n\n" + DSML, "Let me read.", calls=[READ_PART]),
    Case(
        "seed",
        "<seed:think>I list.</seed:think><seed:tool_call>\n<function=bash>\n<parameter=command>ls -la</parameter>\n</function>\n</seed:tool_call>",
        reasoning="I list.",
        calls=[LS],
    ),
    Case(
        "step",
        '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="bash"><steptml:parameter name="command">ls -la</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
        calls=[LS],
    ),
]
