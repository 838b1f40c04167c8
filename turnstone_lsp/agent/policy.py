"""The one place that decides whether a prepared call runs, asks, or is refused. It reads no file and asks nobody.

In this order, the first that speaks wins; deny > ask > allow holds across all layers, for sub-agents alike:

1. a hard block of the tool, in every mode                                 -> deny
2. a deny rule                                                             -> deny
3. plan mode, for a tool that is not read-only                             -> deny
4. what the tool itself doubts (protected names, a doubtful command), an untrusted folder,
   a page fetched before (C-16), an ask rule                               -> ask
5. the tool's own default, the sub-agents' auto set, an allow rule, an "always", the task's grant, the mode -> allow
6. otherwise                                                               -> ask

`auto_approve` (headless, --yes) answers every question of 4 and 6 yes, but for protected names and for commands that
a deny rule might mean: those are denied, since nobody can look.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from turnstone_lsp.agent import rules as matching
from turnstone_lsp.agent.always import grant_for
from turnstone_lsp.memory.grants import Grant
from turnstone_lsp.tools import registry
from turnstone_lsp.web import outbound
from turnstone_lsp.workspace import protected

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turnstone_lsp.agent.rules import Target
    from turnstone_lsp.config.settings import Mode, Rule
    from turnstone_lsp.tools.base import Plan

__all__ = ["READ_ONLY_TOOLS", "Grant", "Verdict", "check_rules", "decide", "grant_for"]

READ_ONLY_TOOLS = frozenset(
    name for name, d in registry.DEFINITIONS.items() if d["agent"] or d["auto_approve"]
) | frozenset({"plan"})
"""What runs in plan mode: the tools of plan sub-agents, the memory tools, and plan itself, whose file is the plan."""

_EDIT_TOOLS = frozenset({"write_file", "edit_file"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on one call.

    reasons: for deny and ask, why; because: for allow, why no question is asked; always: what an "always" would
    store, as text, where it is offered.
    """

    kind: Literal["deny", "ask", "allow"]
    reasons: tuple[str, ...] = ()
    because: str | None = None
    always: str | None = None


def decide(
    plan: Plan,
    tool: str,
    *,
    mode: Mode = "ask",
    rules: Sequence[Rule] = (),
    grants: Sequence[Grant] = (),
    roots: Sequence[Path] = (),
    trusted: bool = True,
    auto_approve: bool = False,
    sub_agent: bool = False,
    granted: frozenset[str] = frozenset(),
    tainted: bool = False,
) -> Verdict:
    """Decide on a prepared call.

    roots: the real workspace folders; trusted: the user trusts them; sub_agent: a sub-agent makes the call; granted:
    tools that the approval of its task named; tainted: text of strangers is in the conversation.
    """
    about = matching.target(plan, tool, roots)
    guarded = _protected(plan, about)
    if refusal := _refusal(plan, about, mode, rules):
        return Verdict("deny", (refusal,))
    reasons = tuple(dict.fromkeys([*plan.must_ask, *guarded, *_doubts(about, rules, tainted=tainted)]))
    default = tool in registry.AGENT_AUTO_TOOLS if sub_agent else not plan.needs_approval
    if not trusted and not default:
        reasons = ("this folder is not trusted", *reasons)
    if auto_approve:
        return _headless(about, rules, guarded, trusted=trusted or default)
    if reasons:
        return Verdict("ask", reasons, always=None if guarded else _always(tool, plan))
    because = "auto-approved tool" if default else _permission(about, mode, rules, grants, granted)
    if because:
        return Verdict("allow", because=because)
    return Verdict("ask", always=_always(tool, plan))


def check_rules(rules: Sequence[Rule]) -> list[str]:
    """Warnings for rules that can never match as written: no such tool, or a host where anyone can publish (C-17)."""
    return [
        f"The rule '{matching.show(rule)}' allows nothing: {advice}."
        for rule in rules
        if rule.decision == "allow" and (advice := outbound.advice(rule.host))
    ] + [
        f"The rule '{matching.show(rule)}' names no tool: there is no '{rule.tool}'. "
        f"The tools are {', '.join(registry.DEFINITIONS)}."
        for rule in rules
        if rule.tool and rule.tool not in registry.DEFINITIONS
    ]


def _refusal(plan: Plan, about: Target, mode: Mode, rules: Sequence[Rule]) -> str | None:
    if plan.block:
        return plan.block
    for rule in rules:
        if rule.decision == "deny" and matching.prohibits(rule, about):
            return f"the rule '{matching.show(rule)}' forbids it"
    if mode == "plan" and (about.tool not in READ_ONLY_TOOLS or plan.edits):
        return "plan mode is read-only; ask the user to leave plan mode before anything is changed or run"
    return None


def _protected(plan: Plan, about: Target) -> list[str]:
    """Protected names that the call writes, and secrets that it reads (C-02, faults 123).

    Of a command: what it writes, and secrets that its text names where the gate has doubts about the line. A mere word
    (`git commit -m "ignore .env"`) is none.
    """
    command = about.command is not None
    judged: list[str | None] = []
    if command or plan.kind == "edit" or plan.edits:
        judged += [protected.write_reason(place) for place in about.named]
    if plan.must_ask if command else not judged:
        judged += [protected.read_reason(place) for place in matching.places(about)]
    return [reason for reason in judged if reason]


def _doubts(about: Target, rules: Sequence[Rule], *, tainted: bool) -> list[str]:
    """Why the user is asked though a mode, a rule or a grant might allow the call."""
    found = []
    for rule in rules:
        if rule.decision == "ask" and matching.prohibits(rule, about):
            found.append(f"the rule '{matching.show(rule)}' asks")
        elif rule.decision != "allow" and matching.may_prohibit(rule, about):
            found.append(f"the command cannot be read in full, so the rule '{matching.show(rule)}' may mean it")
    if tainted and about.host is not None:
        found.append("text from the web is in the conversation, and this request could carry data out")
    return found


def _headless(about: Target, rules: Sequence[Rule], guarded: Sequence[str], *, trusted: bool) -> Verdict:
    """Nobody is there to be asked: yes, where yes may be said for the user."""
    refused = [f"{reason}, and nobody is there to be asked" for reason in guarded]
    refused += [
        f"the command cannot be read in full, so the rule '{matching.show(rule)}' may mean it"
        for rule in rules
        if rule.decision == "deny" and matching.may_prohibit(rule, about)
    ]
    if not trusted:
        refused.append("this folder is not trusted and nobody is there to be asked; run with --trust")
    if refused:
        return Verdict("deny", tuple(dict.fromkeys(refused)))
    return Verdict("allow", because="every question is answered yes (auto_approve)")


def _permission(
    about: Target, mode: Mode, rules: Sequence[Rule], grants: Sequence[Grant], granted: frozenset[str]
) -> str | None:
    """Why the call needs no question, or None."""
    allowing = [rule for rule in rules if rule.decision == "allow"]
    for rule in allowing:
        if matching.permits(rule, about):
            return f"rule: {matching.show(rule)}"
    mine = [grant for grant in grants if grant.tool == about.tool]
    for grant in mine:
        if _granted(grant, about):
            return f"always: {grant.text}"
    prefixes = [grant.argv for grant in mine if grant.kind == "prefix"]
    if matching.covers_commands(about, allowing, prefixes):
        return "every command of the line is allowed by a rule or an always"
    if about.tool in granted:
        return "approved with its task"
    if mode == "edit" and about.tool in _EDIT_TOOLS and _inside(about):
        return "mode edit"
    return "mode auto" if mode == "auto" else None


def _granted(grant: Grant, about: Target) -> bool:
    if grant.kind == "command":
        return about.command is not None and about.command == grant.pattern
    if grant.kind == "path":  # a file's own name may hold * and ?: it stands for itself, "folder/**" for what is below
        folder = grant.pattern.removesuffix("/**")
        return about.path is not None and (
            str(about.path) == grant.pattern or (folder != grant.pattern and about.path.is_relative_to(folder))
        )
    if grant.kind == "host":
        return about.host is not None and about.host == grant.pattern
    return grant.kind == "tool" and about.command is None and about.path is None and about.host is None


def _inside(about: Target) -> bool:
    return about.path is not None and any(about.path.is_relative_to(root) for root in about.roots)


def _always(tool: str, plan: Plan) -> str | None:
    grant = grant_for(tool, plan)
    return None if grant is None else grant.text
