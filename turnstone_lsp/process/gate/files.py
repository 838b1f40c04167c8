"""Rules for programs that delete, move, write or re-permit files."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from turnstone_lsp.process.gate import options
from turnstone_lsp.process.gate.places import MEANING, Place
from turnstone_lsp.process.gate.words import UNKNOWN, Word

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnstone_lsp.process.gate.command import Command

_ACTIONS = frozenset(["-exec", "-execdir", "-ok", "-okdir"])


def rm(c: Command) -> None:
    """rm, rmdir, unlink."""
    recursive = c.has("rR", "recursive")
    for word in c.operands():
        c.removes(word, recursive=recursive)


def find(c: Command) -> None:
    """find: its start paths, its tests, and what -delete and -exec do with what it finds."""
    at = next(
        (i for i, w in enumerate(c.args) if w.text[:1] in {"-", "(", "!"} and w.text not in {"-L", "-H", "-P"}),
        len(c.args),
    )
    starts = [w for w in c.args[:at] if not w.text.startswith("-")] or [Word(".")]
    expression = c.args[at:]
    filtered = any(
        w.text in options.names("find_filters")
        and not (w.text.endswith("name") and i + 1 < len(expression) and expression[i + 1].text == "*")
        for i, w in enumerate(expression)
    )
    found = [hit for start in starts for hit in _hits(c, start, filtered=filtered)]
    index = 0
    while index < len(expression):
        text = expression[index].text
        if text == "-delete":
            for word in found:
                c.removes(word, recursive=True)
        elif text.startswith("-fprint") or text == "-fls":
            for word in expression[index + 1 : index + 2]:
                c.writes(word)
        elif text in _ACTIONS:
            end = next((i for i in range(index + 1, len(expression)) if _ends(expression, i)), len(expression))
            words = expression[index + 1 : end]
            here = [Word("./{}")] if text.endswith("dir") and filtered else found
            c.judge.argv([new for w in words for new in _with_hit(w, here)], c.state)
            index = end
        index += 1


def _ends(expression: list[Word], at: int) -> bool:
    return expression[at].text == ";" or (expression[at].text == "+" and expression[at - 1].text == "{}")


def _hits(c: Command, start: Word, *, filtered: bool) -> list[Word]:
    """What find hands on: the start path and all below it, or, where tests pick some of it, one file below it."""
    below = f"{start.text.rstrip('/')}/"
    if filtered and c.place(start) != Place.VITAL:
        return [Word(f"{below}found")]
    return [start, Word(f"{below}*", glob=True)]


def _with_hit(word: Word, found: list[Word]) -> list[Word]:
    return [Word(word.text.replace("{}", one.text), one.glob) for one in found] if "{}" in word.text else [word]


def fd(c: Command) -> None:
    """fd, fdfind: -x and -X run a command."""
    for at, word in enumerate(c.args):
        if word.text in {"-x", "-X", "--exec", "--exec-batch"}:
            words = c.args[at + 1 :]
            starts = [w for w in c.args[:at] if not w.text.startswith("-")][1:] or [Word(".")]
            found = [hit for start in starts for hit in _hits(c, start, filtered=True)]
            if not any("{" in w.text for w in words):
                words = [*words, Word("{}")]
            c.judge.argv([new for w in words for new in _with_hit(w, found)], c.state)
            return


def mv(c: Command) -> None:
    """mv: sources leave their place, the target is written."""
    sources, target = _sources_and_target(c)
    for word in sources:
        c.removes(word, recursive=True, what="moves away")
    if target is not None:
        c.writes(target, "moves to")


def cp(c: Command) -> None:
    """cp, install: the target is written."""
    sources, target = _sources_and_target(c)
    if c.name == "install" and c.has("d", "directory"):
        write_operands(c)
    elif target is not None:
        c.writes(target, "copies to")
    if c.has("rRa", "recursive", "archive"):
        for word in sources:
            if c.place(word) == Place.VITAL:
                c.ask(f"copies {word.shown}, {MEANING[Place.VITAL]}")


def _sources_and_target(c: Command) -> tuple[list[Word], Word | None]:
    named = [w for w in c.values("t", "target-directory") if w.text]
    operands = c.operands("tSgmo", "target-directory", "suffix", "group", "mode", "owner")
    if named:
        return operands, named[0]
    return operands[:-1], operands[-1] if len(operands) > 1 else None


def ln(c: Command) -> None:
    """ln: a link that leads out of the workspace lets later writes follow it."""
    operands = c.operands("tS", "target-directory", "suffix")
    if len(operands) > 1:
        c.writes(operands[-1])
    for word in operands[: -1 if len(operands) > 1 else None]:
        place = c.place(word)
        if place > Place.TEMPORARY and not (
            c.has("s", "symbolic") and not word.text.startswith(("/", "~", "..", UNKNOWN))
        ):
            c.ask(f"links to {word.shown}, {MEANING[place]}")


def rsync(c: Command) -> None:
    """rsync: the target is written, --delete empties it, a host is another machine."""
    operands = c.operands("eBTf", "rsh", "exclude", "include", "filter", "exclude-from", "include-from", "files-from")
    if any(re.match(r"[^/]*:|rsync://", w.text) for w in operands):
        c.ask("reaches another machine")
    elif len(operands) > 1:
        c.writes(operands[-1], "copies to")
        if any(w.text.startswith(("--del", "--remove-source")) for w in c.args):
            c.removes(operands[-1], recursive=True, what="deletes in")


def write_operands(c: Command) -> None:
    """tee, touch, mkdir, truncate ...: every operand is written."""
    for word in c.operands("smtrdoij", "size", "mode", "reference", "date"):
        c.writes(word)
        if c.name in {"tee", "sponge"}:
            c.state.files[os.path.normpath(word.text)] = c.feed.text if c.feed else None


def second_written(c: Command) -> None:
    """uniq, xxd, split: the second operand is written."""
    for word in c.operands("fswlnabcpog")[1:2]:
        c.writes(word)
    outputs(c)


def dd(c: Command) -> None:
    """dd: of= is written, if= is read."""
    for word in c.args:
        key, _, value = word.text.partition("=")
        if key == "of":
            c.writes(Word(value))
        elif key == "if":
            c.reads(Word(value))
        elif not word.known:
            c.ask("writes to a place that is only known when it runs")


def chmod(c: Command) -> None:
    """chmod, chown, chgrp: recursion over vital folders, set-uid bits, files outside."""
    recursive = c.has("R", "recursive")
    operands = c.operands("", "reference", "from")
    reference = any(w.text.startswith("--reference") for w in c.args)
    modes = [w.text for w in c.args if re.fullmatch(r"[-+=0-7ugoarwxXst,]+", w.text)]
    if c.name == "chmod" and any(
        re.search(r"[ugoa]*[+=][rwxXt]*s", m) or re.fullmatch(r"0*[2-7][0-7]{3}", m) for m in modes
    ):
        c.ask("sets a set-uid or set-gid bit")
    for word in operands if reference else operands[1:]:
        place = c.place(word)
        if place in {Place.OWN, Place.CRITICAL} or (recursive and place in {Place.VITAL, Place.DEVICE}):
            c.block(f"changes rights of {word.shown}, {MEANING[place]}")
        elif place == Place.WORKSPACE_ROOT and not recursive:
            continue
        elif place > Place.TEMPORARY:
            c.ask(f"changes rights of {word.shown}, {MEANING[place]}")


def tar(c: Command) -> None:
    """tar: where it unpacks, and absolute names."""
    if not c.args:
        return
    first = c.args[0].text
    letters = first if not first.startswith("--") else ""
    extracting = "x" in letters or c.has("x", "extract", "get")
    if extracting:
        for word in c.values("C", "directory"):
            c.writes(word, "unpacks to")
        if c.has("P", "absolute-names"):
            c.ask("unpacks to absolute paths")
    if c.has("", "remove-files"):
        c.ask("deletes what it packs")
    if "c" in letters or c.has("c", "create"):
        for word in c.values("f", "file") or ([c.args[1]] if "f" in letters and len(c.args) > 1 else []):
            if word.text != "-":
                c.writes(word)


def unpack(c: Command) -> None:
    """unzip, 7z, cpio ...: -d and -o name the folder."""
    for word in c.values("doD", "directory"):
        if word.text:
            c.writes(word, "unpacks to")


def outputs(c: Command) -> None:
    """Gcc -o, pandoc -o ...: the output file."""
    for word in c.values("o", "output", "outfile", "out"):
        if word.text:
            c.writes(word)


def sed(c: Command) -> None:
    """sed: -i writes its files; the commands e, w and s///e, s///w run and write."""
    in_place = c.has("i", "in-place")
    given = c.values("e", "expression")
    operands = c.operands("ef", "expression", "file")
    scripts = given or operands[:1]
    if c.has("f", "file"):
        c.ask("runs a script that is not shown")
    for script in scripts:
        if not script.known:
            c.judge.found.plain = False
            if re.search(r"\x00\s*[ewW]?$", script.text):
                continue
        for text in sed_actions(script.text):
            if text.startswith("e"):
                c.ask("runs a command from its script")
                c.judge.script(text[1:].strip(), c.state)
            else:
                c.writes(Word(text[1:].strip()))
    if in_place:
        for word in operands if given else operands[1:]:
            c.writes(word)


_SED_ADDRESS = re.compile(
    r"(?:\d+(?:~\d+)?|\$|/(?:\\.|[^/\\])*/[IM]*|\\(.)(?:\\.|(?!\1).)*\1[IM]*|[,+~!\s{};]|0)+", re.DOTALL
)


def sed_actions(script: str) -> list[str]:
    """The e and w commands of a sed script, as "e COMMAND" and "w FILE"; flags of s count."""
    out: list[str] = []
    at = 0
    while at < len(script):
        address = _SED_ADDRESS.match(script, at)
        at = address.end() if address else at
        if at >= len(script):
            break
        command = script[at]
        line_end = script.find("\n", at)
        line_end = len(script) if line_end < 0 else line_end
        if command in "sy" and at + 1 < len(script):
            at = _after_substitution(script, at)
            flags = re.match(r"[gpIiMm0-9e]*(?:w[ \t]*[^\n]*)?", script[at:])
            used = flags[0] if flags else ""
            if command == "s" and "e" in used.split("w")[0]:
                out.append("e")
            if command == "s" and "w" in used:
                out.append(f"w {used.partition('w')[2]}")
            at += max(len(used), 0)
        elif command in "eEwW":
            out.append(f"{command.lower()} {script[at + 1 : line_end]}")
            at = line_end
        elif command in "aicrRbtT:lqQ#":
            at = line_end if command in "aicrR#" else _next(script, at + 1)
        else:
            at += 1
    return out


def _after_substitution(script: str, at: int) -> int:
    delimiter, seen, index = script[at + 1], 0, at + 2
    while index < len(script) and seen < 2:
        if script[index] == "\\":
            index += 1
        elif script[index] == delimiter:
            seen += 1
        index += 1
    return index


def _next(script: str, at: int) -> int:
    ends = [i for i in (script.find(c, at) for c in "\n;}") if i >= 0]
    return min(ends, default=len(script))


RULES: dict[str, Callable[[Command], None]] = {
    **dict.fromkeys(("rm", "rmdir", "unlink", "trash", "trash-put", "del", "rimraf"), rm),
    **dict.fromkeys(
        ("tee", "touch", "mkdir", "mkfifo", "mknod", "truncate", "sponge", "shred", "gio-trash"), write_operands
    ),
    **dict.fromkeys(("cp", "install", "gcp"), cp),
    **dict.fromkeys(("chmod", "chown", "chgrp"), chmod),
    **dict.fromkeys(("tar", "bsdtar", "gtar"), tar),
    **dict.fromkeys(("unzip", "7z", "7za", "unrar", "cpio", "unar"), unpack),
    **dict.fromkeys(
        ("gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "ld", "as", "sort", "pandoc", "go", "tree"), outputs
    ),
    **dict.fromkeys(("fd", "fdfind"), fd),
    **dict.fromkeys(("sed", "gsed"), sed),
    **dict.fromkeys(("uniq", "xxd", "split"), second_written),
    **dict.fromkeys(
        ("iconv", "openssl", "nasm", "ar", "objcopy", "strip", "ffmpeg", "convert", "cpp", "yacc"), outputs
    ),
    "find": find,
    "mv": mv,
    "ln": ln,
    "rsync": rsync,
    "dd": dd,
}
