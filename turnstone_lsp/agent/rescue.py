"""Tool calls and reasoning that arrive as text, taken out of the answer they stand in.

`parse` takes a whole output; `Stream` takes it in pieces and comes to the same. Each family of models has its own
notation (`rescuing/markers.py` lists them). Text that merely talks about calls stays text: inline code, code samples,
records that name no real tool.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnstone_lsp.agent.rescuing import harmony, markers
from turnstone_lsp.agent.rescuing.bare import bare
from turnstone_lsp.agent.rescuing.blocks import MORE, Block, Outcome, first_of, read
from turnstone_lsp.agent.rescuing.fences import INFOS, fenced
from turnstone_lsp.agent.rescuing.output import Output, Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FENCE_LINE = 200
"""Characters of an opening fence's line at most."""
_PATIENCE = 4096
"""Characters of one undecided call from which on it is looked at only when it has grown by a sixteenth."""
_HALF_MARKER = 6
"""Characters of a marker's beginning that no ordinary text ends in."""
_SPACES = " \t\n"
_MARKS = " \t\n.,;:!?)\"'”’»]"
_QUOTES = " \t(\"'“‘«["


def parse(text: str, tool_names: Sequence[str]) -> dict[str, Any]:
    """{"content": str, "reasoning": str, "tool_calls": [{"name": str, "arguments": dict | str}]}.

    `arguments` is an object wherever one can be read without loss, else the raw text. A call that is cut off gives no
    call. `content` is the text as it stands when nothing was taken out of it, else without blanks around it.
    """
    stream = Stream(tool_names)
    stream.feed(text)
    return stream.finish(length_cut=False)


class Stream:
    """The same for an output that comes in pieces, cut anywhere.

    `feed` returns what is certain by now; `finish` returns what `parse` returns for the whole, and leaves in `rest`
    what was not yet shown. Names stand as the model wrote them, also where they are only near to a real tool's.
    """

    def __init__(self, tool_names: Sequence[str]) -> None:
        self.rest: list[Piece] = []
        """After `finish`: the pieces that it decided."""
        self._names = tuple(tool_names)
        self._points = markers.points(self._names)
        self._pending = ""
        self._step: Callable[[bool], bool] = self._body
        self._wait = 0
        self._cut = False
        self._output = Output()
        self._closers: tuple[str, ...] = ()
        self._fence = ""
        self._passed: set[str] = set()  # the closing tags of opening tags that were ordinary text
        self._header = harmony.Header("content", 0)

    def feed(self, text: str) -> list[Piece]:
        """Take the next piece of the output."""
        self._pending += text
        if len(self._pending) >= self._wait:
            self._run(final=False)
            size = len(self._pending)
            self._wait = size + size // 16 if size > _PATIENCE else 0
        return self._output.take()

    def finish(self, length_cut: bool = False) -> dict[str, Any]:
        """The whole output, parsed. length_cut: the reply was ended by the length limit, so a last call without its
        end marker is dropped.
        """
        self._cut = length_cut
        self._run(final=True)
        result = self._output.result()
        self.rest = self._output.take()
        return result

    def _run(self, *, final: bool) -> None:
        while self._pending and self._step(final):
            pass

    def _remove(self, size: int) -> bool:
        """Go past something that is not to be shown."""
        self._pending = self._pending[size:]
        self._output.removed()
        return True

    def _pass(self, size: int) -> bool:
        """Go past ordinary text."""
        self._output.show(self._pending[:size])
        self._pending = self._pending[size:]
        return True

    # -- ordinary text

    def _body(self, final: bool) -> bool:
        text = self._pending
        found = self._points.pattern.search(text)
        while found and found.lastgroup in ("line", "ticks") and not self._stands(found):
            found = self._points.pattern.search(text, found.start() + 1)
        if found is None:
            certain = self._certain()
            if final and not self._half_marker(text[certain:]):
                certain = len(text)
            self._pass(certain)
            if final:
                self._pending = ""
            return False
        self._pass(found.start())
        kind, marker = found.lastgroup or "", found.group()
        if kind == "line" and not final and self._pending.lstrip(" \t") in self._points.prefixes:
            return False
        steps: dict[str, Callable[[str, bool], bool]] = {
            "call": self._at_call,
            "line": self._at_line,
            "ticks": self._at_ticks,
            "think": self._at_thought,
            "unthink": self._at_closing,
            "noise": self._at_noise,
            "stray": self._at_noise,
            "last": self._at_last,
            "response": self._at_response,
            "harmony": self._at_harmony,
        }
        return steps[kind](marker, final)

    def _stands(self, found: re.Match[str]) -> bool:
        """Whether what counts only at the beginning of a line stands there."""
        if found.group()[0] == "`":
            return True
        return found.start() > 0 or not self._output.line.strip()

    def _certain(self) -> int:
        """Up to where the text cannot be the beginning of a marker."""
        text = self._pending
        certain = len(text)
        for size in range(min(self._points.longest, len(text)), 0, -1):
            if text[-size:] in self._points.prefixes:
                certain = len(text) - size
                break
        start = text.rfind("\n") + 1
        if start or not self._output.line.strip():
            word = text[start:].lstrip(" \t")
            if word and any(known.startswith(word) for known in self._points.words):
                certain = min(certain, len(text) - len(word))
        return certain

    def _half_marker(self, tail: str) -> bool:
        """Whether the output ends in the middle of a marker, which is then not shown."""
        return len(tail) >= (2 if self._cut else _HALF_MARKER) and tail in self._points.prefixes

    def _at_call(self, marker: str, final: bool) -> bool:
        start = markers.AT_MARKER.get(marker, len(marker))
        outcome = read(markers.READERS[marker], self._pending, start, final, self._names)
        if isinstance(outcome, Block) and not outcome.calls and not outcome.text:
            nothing_follows = not self._pending[len(marker) :].strip()
            if nothing_follows and marker[1].isalpha() and self._output.line.strip() and not self._cut:
                outcome = None  # an answer that ends in the name of a tag
        if outcome is None:
            self._passed.add(marker.replace("<", "</"))
        return self._settle(outcome, len(marker))

    def _at_line(self, marker: str, final: bool) -> bool:
        if blanks := len(marker) - len(marker.lstrip(" \t")):
            return self._pass(blanks)  # what stands behind them may also be a marker
        outcome = read(bare(fresh=self._output.fresh), self._pending, 0, final, self._names)
        return self._settle(outcome, len(marker))

    def _settle(self, outcome: Outcome, size: int) -> bool:
        """Take what a reader found; `size`: how much is ordinary text if it found none."""
        if outcome is MORE:
            return False
        if not isinstance(outcome, Block):
            return self._pass(size)
        self._output.calls += outcome.calls[:-1] if self._cut and not outcome.closed else outcome.calls
        self._remove(outcome.end)
        self._output.show(outcome.text)
        self._output.line = ""
        return True

    # -- code

    def _at_ticks(self, marker: str, final: bool) -> bool:
        text, run = self._pending, marker.strip()
        if len(run) < 3:
            return self._inline(len(run), final)
        opened = re.compile(r"[ \t]*[`~]+([\w+-]*)[ \t]*(\n|(?=[{\[<]))").match(text)
        line_end = text.find("\n")
        if opened is None:
            head = text[len(marker) : line_end if line_end >= 0 else len(text)]
            if "`" in head or len(head) > _FENCE_LINE or (line_end < 0 and final):
                return self._inline(len(run), final)
            if line_end < 0:
                return False
        elif opened[1].lower() in INFOS and self._names and run[0] == "`":
            reader = fenced(opened[1].lower(), run, fresh=self._output.fresh)
            outcome = read(reader, text, opened.end(), final, self._names)
            if outcome is not None:
                return self._settle(outcome, 0)
        if line_end < 0:
            return self._inline(len(run), final)
        self._fence = run
        self._step = self._code
        return self._pass(line_end + 1)

    def _inline(self, ticks: int, final: bool) -> bool:
        """Code within a line is text as a whole."""
        closing = re.compile(rf"(?<!`)`{{{ticks}}}(?!`)").search(self._pending, ticks)
        line_end = self._pending.find("\n")
        if closing and (line_end < 0 or closing.end() <= line_end):
            if closing.end() == len(self._pending) and not final:
                return False
            return self._pass(closing.end())
        if line_end < 0 and self._cut:
            return self._pass(len(self._pending))  # the reply was cut inside the code
        return self._pass(ticks) if final or line_end >= 0 else False

    def _code(self, final: bool) -> bool:
        """Inside a fenced block, up to the line that closes it."""
        end = r"(?:\n|\Z)" if final else r"\n"
        closing = re.compile(rf"^[ \t]*{self._fence}{self._fence[0]}*[ \t]*{end}", re.MULTILINE)
        found = closing.search(self._pending)
        if found and found.start() == 0 and self._output.line.strip():
            found = closing.search(self._pending, 1)
        if found:
            self._step = self._body
            size = found.end() - found.group().endswith("\n")
            return self._pass(size)
        last = self._pending.rfind("\n") + 1
        partial = self._pending[last:]
        if final or partial.strip(" \t" + self._fence[0]):
            last = len(self._pending)
        self._pass(last)
        return False

    # -- reasoning

    def _at_thought(self, marker: str, final: bool) -> bool:
        following = self._pending[len(marker) : len(marker) + 1]
        if not following and not final:
            return False
        before = self._output.line[-1:]
        if self._output.line.strip() and (before in _SPACES or before in _QUOTES):
            return self._pass(len(marker))
        self._closers = markers.THOUGHTS[marker]
        self._output.new_thought()
        self._step = self._thought
        return self._remove(len(marker))

    def _thought(self, final: bool) -> bool:
        """Inside reasoning. It ends at its closing tag; without one, at the first call (which it must not swallow)."""
        text = self._pending
        closing = first_of(text, 0, self._closers)
        if closing:
            self._output.think(text[: closing[0]])
            self._step = self._body
            self._output.line = ""
            return self._remove(closing[1])
        call = None if self._cut else self._call_in_thought(final)
        if call is not None:
            self._output.think(text[:call])
            self._pending = text[call:]
            if final:
                self._step = self._body
                self._output.line = ""
            return final
        stop = len(text) if final else self._certain()
        for closer in self._closers:
            for size in range(min(len(closer) - 1, len(text)), 0, -1):
                if not final and text.endswith(closer[:size]):
                    stop = min(stop, len(text) - size)
                    break
        self._output.think(text[:stop])
        self._pending = text[stop:]
        return False

    def _call_in_thought(self, final: bool) -> int | None:
        at = 0
        while found := self._points.pattern.search(self._pending, at):
            at = found.end()
            if found.lastgroup == "harmony":
                return found.start()
            if found.lastgroup == "call":
                start = found.start() + markers.AT_MARKER.get(found.group(), len(found.group()))
                if read(markers.READERS[found.group()], self._pending, start, final, self._names) is not None:
                    return found.start()
        return None

    def _at_closing(self, marker: str, final: bool) -> bool:
        """The end of reasoning whose beginning was not seen: all text so far was reasoning."""
        following = self._pending[len(marker) : len(marker) + 1]
        if not following and not final:
            return False
        if self._talked_about(following):
            return self._pass(len(marker))
        self._output.all_was_reasoning()
        self._output.line = ""
        return self._remove(len(marker))

    def _talked_about(self, following: str) -> bool:
        """Whether a marker stands in a sentence as its word: blanks or quotes before it, blanks or marks behind."""
        before = self._output.line.rstrip()
        return bool(
            before
            and before[-1] not in ".!?>]"
            and self._output.line[-1] in _QUOTES
            and following
            and (following in _MARKS)
        )

    # -- tokens

    def _at_noise(self, marker: str, final: bool) -> bool:
        following = self._pending[len(marker) : len(marker) + 1]
        if not following and not final and self._output.line[-1:] in _QUOTES:
            return False
        is_text = marker in self._passed or self._talked_about(following)
        return self._pass(len(marker)) if is_text else self._remove(len(marker))

    def _at_last(self, marker: str, final: bool) -> bool:
        if self._pending[len(marker) :].strip():
            return self._pass(len(marker))
        return self._remove(len(self._pending)) if final else False

    def _at_response(self, marker: str, final: bool) -> bool:
        if not self._output.calls:
            return self._pass(len(marker))
        end = first_of(self._pending, len(marker), (marker.replace("<", "</"),))
        if end is None and not final:
            return False
        return self._remove(end[1] if end else len(self._pending))

    # -- Harmony

    def _at_harmony(self, marker: str, final: bool) -> bool:
        head = harmony.header(self._pending, 0, final)
        if head is None:
            return self._pass(len(marker))
        if not isinstance(head, harmony.Header):
            return False
        self._header = head
        self._output.new_thought()
        if head.kind == "content":
            self._output.new_paragraph()
        self._step = self._message
        return self._remove(head.end)

    def _message(self, final: bool) -> bool:
        """Inside one message, up to the token that ends it."""
        text, kind = self._pending, self._header.kind
        end = harmony.END.search(text)
        if end is None and kind == "call" and not final:
            return False
        stop = end.start() if end else len(text) if final else self._certain()
        body = text[:stop]
        if kind == "content":
            self._output.show(body)
        elif kind == "reasoning":
            self._output.think(body)
        elif kind == "call":
            call = harmony.call(self._header.tool, body, ended=end is not None)
            if call is not None and (end is not None or not self._cut):
                self._output.calls.append(call)
        self._pending = text[end.end() if end else stop :]
        if end:
            self._step = self._body
            self._output.line = ""
        return end is not None
