"""Calls written as Python: name(key=value), lists of them, or the few statements in which Gemma wraps them."""

from __future__ import annotations

import ast
import json
import warnings
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.arguments_repair import literal_value
from turnstone_lsp.agent.rescuing.records import make
from turnstone_lsp.tools import registry

if TYPE_CHECKING:
    from turnstone_lsp.agent.rescuing.blocks import Call


def calls_in(source: str, *, keywords_only: bool = False) -> tuple[Call, ...] | None:
    """The calls, when the source holds nothing else. Arguments must be literals; nothing is ever evaluated."""
    try:
        with warnings.catch_warnings():  # an unknown escape such as '\\d' stays as it is written
            warnings.simplefilter("ignore")
            body = ast.parse(source.strip(), mode="exec").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    calls: list[Call] = []
    for statement in body:
        if isinstance(statement, (ast.Expr, ast.Assign)):
            found = _calls(statement.value)
        else:
            return None
        if found is None:
            return None
        calls += found
    if keywords_only and any(not isinstance(c["arguments"], dict) for c in calls):
        return None
    return tuple(calls) or None


def _calls(node: ast.expr) -> list[Call] | None:
    if isinstance(node, (ast.List, ast.Tuple)):
        parts = [_calls(element) for element in node.elts]
        if not parts or any(p is None for p in parts):
            return None
        return [call for part in parts if part for call in part]
    if not isinstance(node, ast.Call):
        return None
    name = _dotted(node.func)
    if name == "print" and len(node.args) == 1 and not node.keywords:
        return [] if isinstance(node.args[0], ast.Name) else _calls(node.args[0])
    call = _call(name, node) if name else None
    return [call] if call else None


def _dotted(node: ast.expr) -> str:
    """The name of what is called, without the module in front of it: default_api.bash, bash.call -> bash."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return _dotted(node.value) if node.attr == "call" else node.attr
    return ""


def _call(name: str, node: ast.Call) -> Call | None:
    try:
        positional = [literal_value(a) for a in node.args]
        arguments = {k.arg: literal_value(k.value) for k in node.keywords if k.arg}
    except (ValueError, TypeError, RecursionError):
        return None
    if len(arguments) != len(node.keywords):
        return None
    if not positional:
        return make(name, arguments)
    order = _parameters(name, len(positional))
    if order is None:
        return None if arguments or len(positional) > 1 else make(name, _raw(positional[0]))
    if arguments.keys() & set(order):
        return None
    return make(name, dict(zip(order, positional, strict=True)) | arguments)


def _parameters(name: str, count: int) -> list[str] | None:
    """The names of the first parameters of a known tool; a single one is its primary parameter."""
    definition = registry.DEFINITIONS.get(name)
    if definition is None:
        return None
    if count == 1:
        return [definition["primary_key"]]
    order = list(definition["parameters"]["properties"])
    return order[:count] if count <= len(order) else None


def _raw(value: Any) -> Any:
    return value if isinstance(value, dict) else json.dumps(value, ensure_ascii=False)
