"""spec/tools.md: 'Tool Schema Format', 'Derived Tool Sets', 'Primary Key Fallback', 'Summary Table'."""

from __future__ import annotations

import dataclasses
import json
import typing
from pathlib import Path

import jsonschema
import pytest

from turnstone_lsp.tools import arguments, registry

# Tool, agent, task_agent, auto_approve, primary_key: the summary table.
SUMMARY = [
    ("bash", False, True, False, "command"),
    ("read_file", True, True, True, "path"),
    ("write_file", False, True, False, "content"),
    ("edit_file", False, True, False, "old_string"),
    ("search", True, True, True, "query"),
    ("math", True, True, False, "code"),
    ("man", True, True, True, "page"),
    ("web_fetch", True, True, False, "url"),
    ("web_search", True, True, False, "query"),
    ("task", False, False, False, "prompt"),
    ("plan", False, False, False, "prompt"),
    ("remember", False, False, True, "key"),
    ("recall", False, False, True, "query"),
    ("forget", False, False, True, "key"),
]

# Tool: {parameter: (type, required)}: the parameter tables.
PARAMETERS = {
    "bash": {"command": ("string", True)},
    "read_file": {"path": ("string", True), "offset": ("integer", False), "limit": ("integer", False)},
    "write_file": {"path": ("string", True), "content": ("string", True)},
    "edit_file": {
        "path": ("string", True),
        "old_string": ("string", True),
        "new_string": ("string", True),
        "near_line": ("integer", False),
    },
    "search": {"query": ("string", True), "path": ("string", False)},
    "math": {"code": ("string", True)},
    "man": {"page": ("string", True), "section": ("string", False)},
    "web_fetch": {"url": ("string", True), "question": ("string", True)},
    "web_search": {"query": ("string", True), "max_results": ("integer", False), "topic": ("string", False)},
    "task": {"prompt": ("string", True)},
    "plan": {"prompt": ("string", True)},
    "remember": {"key": ("string", True), "value": ("string", True)},
    "recall": {"query": ("string", False), "limit": ("integer", False)},
    "forget": {"key": ("string", True)},
}

NAMES = sorted(PARAMETERS)
FOLDER = Path(registry.__file__).resolve().parents[2] / "tools"


def _names(tools: list[dict[str, typing.Any]]) -> set[str]:
    return {t["function"]["name"] for t in tools}


def test_fourteen_json_files_one_tool_each() -> None:
    files = sorted(p.stem for p in FOLDER.glob("*.json"))
    assert files == NAMES
    assert len(files) == 14


@pytest.mark.parametrize(("name", "agent", "task_agent", "auto", "key"), SUMMARY)
def test_summary_table(name: str, agent: bool, task_agent: bool, auto: bool, key: str) -> None:
    definition = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    assert definition["name"] == name
    assert (definition["agent"], definition["task_agent"], definition["auto_approve"]) == (agent, task_agent, auto)
    assert definition["primary_key"] == key


def test_derived_sets_follow_the_metadata() -> None:
    assert _names(registry.TOOLS) == set(NAMES)
    assert _names(registry.AGENT_TOOLS) == {n for n, agent, *_ in SUMMARY if agent}
    assert _names(registry.TASK_AGENT_TOOLS) == {n for n, _, task, *_ in SUMMARY if task}
    assert {n for n, _, _, auto, _ in SUMMARY if auto} == registry.AGENT_AUTO_TOOLS
    assert registry.TASK_AUTO_TOOLS == registry.AGENT_AUTO_TOOLS
    assert {n: key for n, *_, key in SUMMARY} == registry.PRIMARY_KEY_MAP


def test_metadata_is_stripped_before_the_schema_goes_to_the_model() -> None:
    for tool in registry.TOOLS:
        assert tool["type"] == "function"
        assert set(tool["function"]) == {"name", "description", "parameters"}


@pytest.mark.parametrize("name", NAMES)
def test_parameters_match_the_table(name: str) -> None:
    schema = registry.DEFINITIONS[name]["parameters"]
    found = {p: (s["type"], p in schema["required"]) for p, s in schema["properties"].items()}
    assert found == PARAMETERS[name]
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", NAMES)
def test_the_json_file_matches_the_python_arguments(name: str) -> None:
    """The contract between tools/*.json and each module's Args."""
    schema = registry.DEFINITIONS[name]["parameters"]
    cls = registry.implementation(name).Args
    hints = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls)}
    assert list(fields) == list(schema["properties"])
    for field_name, field in fields.items():
        declared = schema["properties"][field_name]
        json_type = {str: "string", int: "integer"}[arguments.base_type(hints[field_name])]
        assert declared["type"] == json_type
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        assert required == (field_name in schema["required"])
        if "enum" in declared:
            assert list(typing.get_args(hints[field_name])) == declared["enum"]


def test_the_fixed_part_of_a_request_stays_small() -> None:
    from turnstone_lsp.agent.prompt import system_prompt

    system = system_prompt("main", cwd=Path("/project"), roots=[Path("/project")])
    assert len(json.dumps(registry.TOOLS)) + len(system) < 12_000
