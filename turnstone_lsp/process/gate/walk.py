"""The walk over a script: every statement at any depth, in order, with what is known at that point."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from turnstone_lsp.process.gate import simple
from turnstone_lsp.process.gate.command import Feed
from turnstone_lsp.process.gate.places import Place, Surroundings, locate
from turnstone_lsp.process.gate.redirects import STATEMENTS, last_command, outputs, trailing_words
from turnstone_lsp.process.gate.syntax import parse, refuse, substitutions, text, too_big, within
from turnstone_lsp.process.gate.words import UNKNOWN, State, Word, alternatives, expand, values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from turnstone_lsp.process.gate.verdict import Findings

_MAX_COMMANDS = 300
_MAX_NESTING = 12
"""Scripts inside scripts (`sh -c` in `eval` in ...)."""
_EXECUTING = re.compile(r"\$\{[^}]*@P\}|\$\{![A-Za-z_]\w*[^}]*\}|\$\{[A-Za-z_]\w*:?=")
_ARITHMETIC_CALL = re.compile(r"\w\[[^\]]*(?:\$\(|`)")
_UNREAD = re.compile(r"(?<!\\)(?:`|\$\()(.+)", re.DOTALL)
_CONTINUED = re.compile(r"([^\s\\])\\\n(?=\S)")
_MISREAD = re.compile(r"(?<!\\)[()]")
_SEQUENCES = {"program", "compound_statement", "do_group", "else_clause", "subshell", "heredoc_redirect"}


class Walk:
    """Walks scripts and reports to `found`. One object serves one command line and the scripts inside it."""

    def __init__(self, found: Findings, around: Surroundings) -> None:
        self.found = found
        self.around = around
        self._commands = 0
        self._nesting = 0
        self._fed: dict[int, Feed] = {}
        self._trailing: dict[int, list[Node]] = {}

    # -- what rules may ask (command.Judge)

    def argv(self, words: Sequence[Word], state: State, feed: Feed | None = None) -> None:
        """Judge a command that another one would run."""
        if words and self._enter():
            simple.run(self, list(words), state, feed)
            self._nesting -= 1

    def script(self, source: str, state: State, *, here: bool = False) -> None:
        """Judge a text that is given to a shell; here: to this one, so that what it changes stays."""
        if not source.strip() or not self._enter():
            return
        if not refuse(source, self.found):
            self.root(source, state if here else state.fork())
        self._nesting -= 1

    def call(self, name: str, state: State) -> None:
        """Judge what calling a function of this script changes; its parameters are not known."""
        body = state.functions[name]
        if body is None or not self._enter():
            return
        state.functions[name] = None
        self.visit(body, state)
        state.settle()
        state.functions[name] = body
        self._nesting -= 1

    def _enter(self) -> bool:
        self._nesting += 1
        if self._nesting > _MAX_NESTING:
            self.found.ask("it nests commands in commands too deep to be examined")
            self._nesting -= 1
            return False
        return True

    def root(self, source: str, state: State) -> None:
        """Parse and walk a whole script."""
        joined = _CONTINUED.sub(r"\1", source)
        if joined != source:  # the parser takes a backslash and a newline for a blank, bash for nothing
            self.root(joined, state.fork())
        tree = parse(source.encode("utf-8", "surrogatepass"))
        if too_big(tree):
            self.found.ask("it is too deep or too large to be examined")
            return
        if tree.has_error:
            self.found.ask("it could not be read as bash with certainty")
        if _EXECUTING.search(source) and any(within(tree, "expansion")):
            for node in within(tree, "expansion"):
                if _EXECUTING.match(text(node)):
                    self.found.ask(f"{text(node)} changes or runs what its variable holds")
        self.visit(tree, state)

    # -- statements

    def visit(self, node: Node, state: State, feed: Feed | None = None) -> Feed:
        """Walk one statement; returns what it may write to its standard output."""
        handler = getattr(self, f"_{node.type}", None)
        if handler is not None:
            return handler(node, state, feed) or Feed()
        if node.type in _SEQUENCES:
            inner = state.fork() if node.type == "subshell" else state
            out = Feed()
            for child in node.named_children:
                out = self.visit(child, inner, feed)
                inner.settle()
            return out
        if node.type == "ERROR":
            self.found.plain = False
        for child in node.named_children:
            self.visit(child, state, feed)
        return Feed()

    def _comment(self, _node: Node, _state: State, _feed: Feed | None) -> None:
        """Comments do nothing."""

    def _command(self, node: Node, state: State, feed: Feed | None) -> Feed:
        self._commands += 1
        if self._commands > _MAX_COMMANDS:
            self.found.ask(f"it has more than {_MAX_COMMANDS} commands")
            return Feed()
        self._substitutions(node, state)
        pairs, name, parts = [], None, []
        args: list[list[Node]] = []
        end = -1
        for child in node.children:
            touches, end = child.start_byte == end, child.end_byte
            if child.type == "variable_assignment":
                pairs.append(child)
            elif child.type == "command_name":
                name, parts = child, [child]
            elif child.type == "herestring_redirect":
                feed = self._herestring(child, state)
            elif child.type == "file_redirect":
                feed = self._redirect(child, state) or feed
            elif child.type in {"subshell", "compound_statement", "test_command"}:
                self.found.ask("a group stands where bash has none; it could not be read with certainty")
                self.visit(child, state.fork())
            elif touches and name is not None:  # the parser cut a word in two
                self.found.ask("two words touch; it could not be read as bash with certainty")
                (args[-1] if args else parts).append(child)
            elif child.is_named:
                args.append([child])
        args += [[word] for word in self._trailing.pop(node.id, ())]
        feed = self._fed.pop(node.id, feed)
        for pair in pairs:
            self._assign(pair, state if name is None else state.fork(), prefix=name is not None)
        if name is None:
            return Feed()
        if any(
            _MISREAD.search(text(leaf)) for group in [parts, *args] for part in group for leaf in within(part, "word")
        ):
            self.found.ask("parentheses stand where bash has none; it could not be read with certainty")
        arguments = [word for arg in args for words in alternatives(arg, state) for word in words]
        out = Feed()
        for words in alternatives(parts, state):
            out = simple.run(self, words + arguments, state, feed)
        return out

    def _substitutions(self, node: Node, state: State) -> None:
        for leaf in within(node, "word", "regex", "extglob_pattern"):
            hidden = _UNREAD.search(text(leaf))
            if hidden:
                self.found.ask("a substitution could not be read with certainty")
                self.script(hidden[1].rstrip("`)"), state)
        for substitution in substitutions(node):
            self.found.plain = False
            if text(substitution).startswith("`") and "\\`" in text(substitution):
                self.script(re.sub(r"\\([`$\\])", r"\1", text(substitution)[1:-1]), state)
            inner = state.fork()
            for child in substitution.named_children:
                self.visit(child, inner)
                inner.settle()

    def _pipeline(self, node: Node, state: State, feed: Feed | None) -> Feed:
        out = feed
        for child in node.named_children:
            out = self.visit(child, state.fork(), out)
        return out or Feed()

    def _list(self, node: Node, state: State, feed: Feed | None) -> Feed:
        operator, out = "", Feed()
        for child in node.children:
            if not child.is_named:
                operator = child.type
            elif operator == "||":
                if re.match(r"(?:exit|return)\b", text(child)):
                    state.doubtful = ()
                branch = state.fork()
                branch.settle()
                self.visit(child, branch, feed)
                state.merge(branch)
            else:
                if operator == "&&":
                    state.doubtful = ()
                out = self.visit(child, state, feed)
        return out

    def _redirected_statement(self, node: Node, state: State, feed: Feed | None) -> Feed:
        body = node.child_by_field_name("body")
        rest: list[Node] = []
        late = body is not None and body.type == "list"  # the parser hangs a redirection of its last command on a list
        for child in node.named_children:
            if child == body:
                continue
            if child.type == "file_redirect":
                feed = self._redirect(child, state, look=not late) or feed
            elif child.type == "herestring_redirect":
                feed = self._herestring(child, state)
            elif child.type == "heredoc_redirect":
                feed, more = self._heredoc(child, state)
                rest += more
            elif body is None:
                body = child
        last = last_command(body)
        words = [word for child in node.named_children for word in trailing_words(child)]
        if last is not None:
            self._trailing[last.id] = words
            if feed is not None:
                self._fed[last.id] = feed
        elif words:
            self.found.ask("words stand behind a redirection; it could not be read with certainty")
        out = self.visit(body, state, feed) if body is not None else Feed(feed.text if feed else None)
        for child in node.named_children if late else ():
            if child.type == "file_redirect":
                self._redirect(child, state)
        for statement in rest:
            self.visit(statement, state, out)
        for target in outputs(node):
            for word in expand(target, state):
                state.files[os.path.normpath(word.text)] = out.text
        return out

    def _heredoc(self, node: Node, state: State) -> tuple[Feed, list[Node]]:
        """The text of a here-document, and the commands that stand behind its mark on the same line."""
        start = next((text(c) for c in node.children if c.type == "heredoc_start"), "")
        body = next((c for c in node.children if c.type == "heredoc_body"), None)
        rest = []
        for child in node.named_children:
            if child.type == "file_redirect":
                self._redirect(child, state)
            elif child.type in STATEMENTS:
                rest.append(child)
        if body is None:
            return Feed(""), rest
        literal = any(c in start for c in "'\"\\")
        if not literal:
            self._substitutions(body, state)
        source = text(body)
        if not literal and any(within(body, "simple_expansion", "expansion")):
            source = re.sub(r"\$\{?(\w+)\}?", lambda m: state.lookup(m[1])[0], source)
        return Feed(source), rest

    def _herestring(self, node: Node, state: State) -> Feed:
        self._substitutions(node, state)
        found = [value for child in node.named_children for value in values(child, state)]
        return Feed(found[0] if len(found) == 1 and UNKNOWN not in found[0] else None)

    def _file_redirect(self, node: Node, state: State, _feed: Feed | None) -> None:
        self._redirect(node, state)

    def _redirect(self, node: Node, state: State, *, look: bool = True) -> Feed | None:
        """Judge a redirection; for input, what it feeds. look: judge its path now."""
        self._substitutions(node, state)
        operator = next((c.type for c in node.children if not c.is_named), ">")
        target = node.child_by_field_name("destination")
        if target is None:
            return None
        for word in expand(target, state):
            if operator in {">&", "<&"} and re.fullmatch(r"\d+-?|-", word.text):
                continue
            if operator == "<":
                simple.reads(self, word, state)
                return Feed(None)
            if not look:
                continue
            if word.text == "!":
                self.found.ask("'>!' is no redirection of bash")
            place = locate(word, state, self.around)[0]
            if place != Place.HARMLESS_DEVICE:
                self.found.plain = False
            simple.writes(self, word, state)
        return None

    # -- branches and loops

    def _if_statement(self, node: Node, state: State, feed: Feed | None) -> None:
        self._branches(node, state, feed)

    def _while_statement(self, node: Node, state: State, feed: Feed | None) -> Feed:
        self._branches(node, state, feed)
        return Feed()

    _elif_clause = _if_statement
    _until_statement = _while_statement

    def _branches(self, node: Node, state: State, feed: Feed | None) -> None:
        for child in node.named_children:
            branch = state.fork()
            self.visit(child, branch, feed)
            branch.settle()
            state.merge(branch)

    def _for_statement(self, node: Node, state: State, feed: Feed | None) -> None:
        name = node.child_by_field_name("variable")
        body = node.child_by_field_name("body")
        items = [c for c in node.named_children if c not in (name, body)]
        for item in items:
            self._substitutions(item, state)
        found = tuple(w.text for item in items for w in expand(item, state)) or (UNKNOWN,)
        branch = state.fork()
        if name is not None:
            branch.variables[text(name)] = tuple(dict.fromkeys(found))[:32] if len(found) <= 32 else (UNKNOWN,)
        if body is not None:
            self.visit(body, branch, feed)
        state.merge(branch)

    def _case_statement(self, node: Node, state: State, feed: Feed | None) -> None:
        for child in node.named_children:
            if child.type == "case_item":
                branch = state.fork()
                for part in child.named_children:
                    self.visit(part, branch, feed)
                    branch.settle()
                state.merge(branch)
            else:
                self._substitutions(child, state)

    def _function_definition(self, node: Node, state: State, feed: Feed | None) -> None:
        self.found.plain = False
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name_node is None or body is None:
            return
        name = text(name_node)
        calls = [c for c in within(body, "command_name") if text(c) == name]
        spreads = any(within(body, "pipeline", "&"))
        if calls and spreads:
            self.found.block(f"{name} starts itself over and over (a fork bomb)")
        inner = state.fork()
        inner.functions[name] = None
        inner.variables |= dict.fromkeys("@*0123456789#", (UNKNOWN,))
        self.visit(body, inner, feed)
        state.functions[name] = body

    # -- assignments and declarations

    def _variable_assignment(self, node: Node, state: State, _feed: Feed | None) -> None:
        self._substitutions(node, state)
        self._assign(node, state, prefix=False)

    def _assign(self, node: Node, state: State, *, prefix: bool) -> None:
        name_node, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name_node is None:
            return
        self.found.plain = False
        name = re.sub(r"\[.*", "", text(name_node), flags=re.DOTALL)
        given = values(value, state) if value is not None else ("",)
        if any(c.type == "+=" for c in node.children):
            given = tuple(old + new for old in state.lookup(name) for new in given)[:32]
        simple.assigned(self, name, given, state)
        if not prefix or name != "IFS":
            state.variables[name] = given

    def _declaration_command(self, node: Node, state: State, _feed: Feed | None) -> None:
        self.found.plain = False
        self._substitutions(node, state)
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._assign(child, state, prefix=False)
        self._arithmetic(node, state)

    def _unset_command(self, node: Node, state: State, _feed: Feed | None) -> None:
        self.found.plain = False
        self._arithmetic(node, state)
        for child in node.named_children:
            name = text(child)
            if re.fullmatch(r"HIST\w*", name):
                self.found.ask("it hides its traces in the shell's history")
            state.variables.pop(name, None)

    def _test_command(self, node: Node, state: State, _feed: Feed | None) -> None:
        self._substitutions(node, state)
        self._arithmetic(node, state)

    def _arithmetic(self, node: Node, state: State) -> None:
        """Quoted text that bash evaluates as arithmetic may hold a subscript that runs a command."""
        for child in within(node, "raw_string", "string", "word", "ansi_c_string"):
            if _ARITHMETIC_CALL.search(text(child)):
                self.found.ask("a quoted subscript would run a command")
                self.script(re.sub(r".*?(?:\$\(|`)", "", text(child).strip("'\""), count=1).rstrip(")]`"), state)

    def _c_style_for_statement(self, node: Node, state: State, feed: Feed | None) -> None:
        self._branches(node, state, feed)
