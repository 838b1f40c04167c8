"""Where the parser hangs redirections, and which words and commands they belong to in bash."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

STATEMENTS = frozenset(
    {"command", "pipeline", "list", "redirected_statement", "subshell", "compound_statement", "negated_command"}
    | {"if_statement", "while_statement", "for_statement", "case_statement", "function_definition", "test_command"}
    | {"variable_assignment", "declaration_command", "unset_command"}
)


def last_command(node: Node | None) -> Node | None:
    """The simple command that a redirection behind a list or a pipeline belongs to."""
    while node is not None and node.type in {"list", "pipeline", "negated_command"}:
        node = node.named_children[-1] if node.named_children else None
    return node if node is not None and node.type == "command" else None


def trailing_words(redirect: Node) -> list[Node]:
    """Words behind a redirection that the parser hangs on it: `rm > log -rf x`."""
    if redirect.type == "file_redirect":
        targets = [c for c in redirect.named_children if c.type != "file_descriptor"]
        return targets[1:]
    if redirect.type == "heredoc_redirect":
        apart = STATEMENTS | {"heredoc_start", "heredoc_body", "heredoc_end", "file_redirect", "file_descriptor"}
        inner = [word for child in redirect.named_children for word in trailing_words(child)]
        return [c for c in redirect.named_children if c.type not in apart] + inner
    return []


def outputs(node: Node) -> Iterator[Node]:
    """The targets of a statement's own output redirections."""
    for child in node.named_children:
        if child.type == "heredoc_redirect":
            yield from outputs(child)
        elif child.type == "file_redirect" and any(c.type in {">", ">>", ">|", "&>", "&>>"} for c in child.children):
            target = child.child_by_field_name("destination")
            if target is not None:
                yield target
