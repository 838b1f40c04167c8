"""Running commands: output in order and bounded, exit codes, limits, nothing that waits for a user."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from processes import SHELL, token, wait_none

from turnstone_lsp.errors import ToolError
from turnstone_lsp.process import posix, supervisor
from turnstone_lsp.process.environment import child_env, probe_env

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnstone_lsp.process.supervisor import Outcome


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    supervisor.shutdown()


async def run(command: str, cwd: Path, **more: Any) -> Outcome:
    more.setdefault("timeout", 60)
    more.setdefault("env", child_env())
    return await supervisor.run([*SHELL, command], cwd=cwd, **more)


async def test_streams_in_order_and_line_by_line(tmp_path: Path) -> None:
    """The spec: "each line calls ui.on_tool_output_chunk as it is produced", stdout and stderr combined."""
    lines: list[str] = []
    outcome = await run(
        "for i in 1 2 3; do echo out $i; echo err $i >&2; done; printf end", tmp_path, on_output=lines.append
    )
    expected = [f"{name} {i}\n" for i in (1, 2, 3) for name in ("out", "err")]
    assert lines == [*expected, "end"]
    assert outcome.output == "".join(lines)
    assert (outcome.exit_code, outcome.signal, outcome.ended) == (0, None, "")


async def test_a_line_is_shown_before_the_command_ends(tmp_path: Path) -> None:
    seen = asyncio.Event()
    lines: list[str] = []

    def show(text: str) -> None:
        lines.append(text)
        seen.set()

    task = asyncio.ensure_future(
        run("printf 'password? '; while [ ! -e go ]; do sleep 0.05; done", tmp_path, on_output=show)
    )
    await asyncio.wait_for(seen.wait(), 20)
    assert lines == ["password? "]
    (tmp_path / "go").touch()
    assert (await task).output == "password? "


@pytest.mark.parametrize(
    ("command", "code", "signal"),
    [("exit 3", 3, None), ("false | true", 1, None), ("kill -9 $$", None, 9), ("nosuchprogram", 127, None)],
)
async def test_exit_codes_signals_and_pipefail(
    command: str, code: int | None, signal: int | None, tmp_path: Path
) -> None:
    outcome = await run(command, tmp_path)
    assert (outcome.exit_code, outcome.signal) == (code, signal)


async def test_nothing_waits_for_a_user(tmp_path: Path) -> None:
    """Faults 106 to 108: no pager, no password, no editor, no terminal, and stdin at its end."""
    (tmp_path / "f").write_text("x\n" * 500)
    script = textwrap.dedent(
        """
        git init -q . && git config user.email a@b && git config user.name a
        git add f && git commit -qm one
        git log
        git commit --allow-empty; echo "commit: $?"
        read x; echo "read: $?"
        tty; echo "$PAGER $GIT_TERMINAL_PROMPT $TERM $NO_COLOR"
        (: < /dev/tty) 2>/dev/null || echo "no terminal"
        """
    )
    outcome = await run(script, tmp_path)
    assert "one" in outcome.output
    for part in ("commit: 1", "read: 1", "not a tty", "cat 0 dumb 1", "no terminal"):
        assert part in outcome.output


async def test_keys_and_shell_hooks_do_not_reach_a_command(tmp_path: Path) -> None:
    """C-23, and BASH_ENV runs even with --norc --noprofile."""
    hook = tmp_path / "hook"
    hook.write_text("echo hooked\n")
    base = {"PATH": os.environ["PATH"], "BASH_ENV": str(hook), "BASH_FUNC_ls%%": "() { echo mine; }"}
    base |= {"OPENAI_API_KEY": "sk-aaaaaaaaaaaa", "TAVILY_API_KEY": "tvly-bbbbbbbb", "ANTHROPIC_API_KEY": "x" * 20}
    base |= {"MY_COPY": "sk-aaaaaaaaaaaa", "DATABASE_URL": "kept"}
    outcome = await run("ls; env", tmp_path, env=child_env(base=base, secrets=["sk-aaaaaaaaaaaa"]))
    assert "hooked" not in outcome.output
    assert "mine" not in outcome.output
    assert "API_KEY" not in outcome.output
    assert "sk-a" not in outcome.output
    assert "DATABASE_URL=kept" in outcome.output


async def test_timeout_keeps_what_was_written(tmp_path: Path) -> None:
    outcome = await run("echo before; sleep 600", tmp_path, timeout=0.5)
    assert (outcome.ended, outcome.output, outcome.exit_code) == ("timeout", "before\n", None)


async def test_a_child_that_holds_the_pipe_does_not_hold_the_call(tmp_path: Path) -> None:
    """Item 4 and fault 104. Its later output goes to the file of the outcome."""
    mark = token()
    outcome = await run(f"(while [ ! -e go ]; do sleep 0.05; done; echo late; exec sleep {mark}) & echo done", tmp_path)
    assert outcome.output == "done\n"
    assert len(outcome.background) == 1
    assert outcome.path is not None
    assert stat.S_IMODE(outcome.path.stat().st_mode) == 0o600
    (tmp_path / "go").touch()
    for _ in range(200):
        if "late" in outcome.path.read_text():
            break
        await asyncio.sleep(0.05)
    assert outcome.path.read_text() == "done\nlate\n"
    supervisor.shutdown()
    assert wait_none(mark) == []


async def test_chunks_stop_at_the_result(tmp_path: Path) -> None:
    lines: list[str] = []
    await run("(sleep 0.4; echo late) & echo now", tmp_path, on_output=lines.append)
    await asyncio.sleep(1)
    assert lines == ["now\n"]


async def test_long_output_is_cut_in_the_middle_and_kept_in_a_file(tmp_path: Path) -> None:
    """Fault 113: head and tail, the full text in a file, and said so."""
    outcome = await run("seq 1 100000", tmp_path, keep=4000, name="bash-call_1")
    assert outcome.path is not None
    assert outcome.path.parent.name == "output"
    assert outcome.path.name.startswith("bash-call_1")
    assert outcome.output.startswith("1\n2\n")
    assert outcome.output.endswith("99999\n100000\n")
    assert f"left out here; the text is in {outcome.path} (read_file)" in outcome.output
    assert len(outcome.output) < 4300
    whole = "".join(f"{i}\n" for i in range(1, 100001))
    assert outcome.path.read_text() == whole
    assert outcome.left_out + 4000 == len(whole)


async def test_short_output_makes_no_file(tmp_path: Path, state: Path) -> None:
    assert (await run("echo hi", tmp_path)).path is None
    assert not list((state / "output").glob("*")) if (state / "output").exists() else True


async def test_escape_sequences_progress_and_broken_text(tmp_path: Path) -> None:
    """Faults 114 and 115, C-18: OSC 52, colours, carriage returns, split and broken UTF-8."""
    script = (
        r"printf '\033[31mred\033[0m \033]52;c;aGk=\007clip \033]8;;http://x\033\\link\033]8;;\033\\\n';"
        r"for i in 1 2 3; do printf '\r%d%%' $i; sleep 0.02; done; printf '\rdone\n';"
        r"printf 'caf\303'; sleep 0.3; printf '\251 \377 \342\200\256x\n'; printf 'a\r\nb\r\n'"
    )
    outcome = await run(script, tmp_path)
    assert outcome.output == "red clip link\ndone\ncafé \ufffd \\u{202e}x\na\nb\n"


async def test_binary_output_is_named_and_not_shown(tmp_path: Path) -> None:
    """Fault 116."""
    (tmp_path / "x.jpg").write_bytes(b"\xff\xd8\xff\xe0" + os.urandom(96_000))
    outcome = await run("cat x.jpg", tmp_path)
    assert (outcome.binary, outcome.output, outcome.bytes_seen) == ("JPEG image", "", 96_004)
    assert (await run("head -c 5000 /dev/urandom", tmp_path)).binary == "data"
    assert (await run("printf 'a\\0b\\0'", tmp_path)).output == "a\nb\n"


async def test_a_program_that_cannot_start(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="was not found on PATH"):
        await supervisor.run(["nosuchprogram-x"], cwd=tmp_path, env=child_env())
    (tmp_path / "x").write_text("not a program")
    with pytest.raises(ToolError, match="could not be started: Permission denied"):
        await supervisor.run([str(tmp_path / "x")], cwd=tmp_path, env=child_env())
    with pytest.raises(ToolError, match="folder cannot be entered"):
        await run("true", tmp_path / "gone")
    assert supervisor.background() == [] or await settled()


async def settled() -> bool:
    for child in supervisor.background():
        await asyncio.wait_for(child.gone(), 10)
    return True


async def test_limits_and_stdin(tmp_path: Path) -> None:
    outcome = await run(
        "cat; ulimit -c; ulimit -n", tmp_path, stdin=b"given\n", limits={"RLIMIT_CORE": 0, "RLIMIT_NOFILE": 99}
    )
    assert outcome.output == "given\n0\n99\n"


async def test_many_commands_at_once(tmp_path: Path) -> None:
    outcomes = await asyncio.gather(*(run(f"sleep 0.1; echo {i}", tmp_path) for i in range(8)))
    assert [o.output for o in outcomes] == [f"{i}\n" for i in range(8)]


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    await run("true", tmp_path)
    await settled()
    before = descriptors()
    for command in ("echo a", "sleep 600", "sleep 0.1 & true", "seq 1 100000"):
        await run(command, tmp_path, timeout=0.4, keep=3000)
    await settled()
    await asyncio.sleep(0.1)
    assert descriptors() <= before


async def test_a_command_inherits_nothing_of_the_server(tmp_path: Path) -> None:
    held = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(held, True)
    outcome = await run("ls /proc/self/fd; trap; ps -o ignored= -p $$", tmp_path)
    os.close(held)
    assert outcome.output.split()[:4] == ["0", "1", "2", "3"]  # 3 is ls's own
    # 32 and 33 are glibc's own: posix_spawn, which make uses, leaves them ignored, and nobody can set them.
    assert int(outcome.output.split()[-1], 16) & ~(0b11 << 31) == 0


async def test_capture_keeps_streams_apart_and_bounds_them(tmp_path: Path) -> None:
    got = await supervisor.capture([*SHELL, "printf 'a\\0b'; echo err >&2; exit 4"], cwd=tmp_path)
    assert (got.stdout, got.stderr, got.exit_code, got.truncated, got.timed_out) == (b"a\0b", b"err\n", 4, False, False)
    got = await supervisor.capture([*SHELL, "yes"], cwd=tmp_path, limit=1000)
    assert (got.stdout, got.truncated) == (b"y\n" * 500, True)
    got = await supervisor.capture([*SHELL, "sleep 600"], cwd=tmp_path, timeout=0.3)
    assert got.timed_out
    mark = token()
    await supervisor.capture([*SHELL, f"sleep {mark} >/dev/null 2>&1 & exit"], cwd=tmp_path)
    assert wait_none(mark) == []


def test_probes_get_a_bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "./evil.so")
    monkeypatch.setenv("BASH_ENV", "./evil")
    monkeypatch.setenv("GIT_DIR", "/x")
    assert not {"LD_PRELOAD", "BASH_ENV", "GIT_DIR"} & probe_env().keys()
    assert probe_env({"MANWIDTH": "80"})["MANWIDTH"] == "80"


# -- item 4: memory and cancel under load, measured in a process of its own

_LOAD = """
import asyncio, resource, sys
from pathlib import Path
from turnstone_lsp.process import supervisor
from turnstone_lsp.process.environment import child_env

async def main():
    command, seconds = sys.argv[1], float(sys.argv[2])
    env = child_env()
    shell = ["/bin/bash", "--norc", "--noprofile", "-c"]
    await supervisor.run([*shell, "seq 1 200000"], cwd=Path.cwd(), env=env, keep=30000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shown = 0
    def show(text):
        nonlocal shown
        shown += len(text)
    task = asyncio.ensure_future(supervisor.run([*shell, command], cwd=Path.cwd(), env=env, on_output=show))
    await asyncio.wait({task}, timeout=seconds)
    loop = asyncio.get_running_loop()
    asked = loop.time()
    task.cancel()
    await asyncio.wait({task})
    took = loop.time() - asked
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(grown // 1024, round(took, 3), shown, task.cancelled())
    supervisor.shutdown()

asyncio.run(main())
"""


@pytest.mark.parametrize(
    "command",
    [
        "yes",
        "head -c 100000000 /dev/zero | tr '\\0' x; sleep 600",
        "cat /dev/urandom",
        "cat /dev/zero",
        "while :; do printf '\\033[31m\\r%s' $RANDOM; done",
        "sleep 600 & sleep 600",
    ],
)
def test_floods_neither_grow_memory_nor_delay_cancel(command: str, tmp_path: Path) -> None:
    """Item 4, faults 111 and 112: at most 50 MB, and idle within ten times 500 ms. `yes` is ended at the cap."""
    done = subprocess.run(
        [sys.executable, "-c", _LOAD, command, "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.stderr == ""
    grown, took, shown, _ = done.stdout.split()
    assert int(grown) < 50
    assert float(took) < 5
    assert int(shown) < 2_000_000


async def test_an_endless_flood_is_ended_at_the_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "HARD_CAP", 20 * 1024 * 1024)
    outcome = await run("yes", tmp_path)
    assert outcome.ended == "output"
    assert outcome.path is not None
    assert outcome.path.stat().st_size == 10 * 1024 * 1024
    assert outcome.output.endswith("y\n")


# -- other platforms and users


async def test_the_way_of_macos_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The `ps` half of the supervisor, forced: selection logic only; it has not been run on macOS."""
    script = await asyncio.to_thread(Path(posix._SCRIPT).read_text)
    forced = tmp_path / "supervise_ps.py"
    forced.write_text(script.replace('LINUX = sys.platform == "linux"', "LINUX = False"))
    monkeypatch.setattr(posix, "_SCRIPT", str(forced))
    assert (await run("echo hi; exit 2", tmp_path)).exit_code == 2
    mark = token()
    outcome = await run(f"sleep {mark} & setsid sleep {mark} & sleep {mark}", tmp_path, timeout=2)
    assert outcome.ended == "timeout"
    assert wait_none(mark) == []


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user; an ordinary user is one already")
def test_as_an_ordinary_user() -> None:
    """Processes are ended without any right of root, with the system's own interpreter."""
    python = "/usr/bin/python3"
    if not Path(python).exists():
        pytest.fail("this test needs /usr/bin/python3")
    mark = token()
    open_folder = tempfile.TemporaryDirectory(dir="/tmp")  # pytest's own is closed to others
    folder = Path(open_folder.name)
    folder.chmod(0o777)
    code = _LOAD.replace("from pathlib import Path", f"from pathlib import Path; sys.executable = {python!r}", 1)
    code = "import os, sys, asyncio; from turnstone_lsp.process import supervisor, posix, output, spool, text;" + (
        "import platformdirs, platformdirs.unix, resource, tempfile, concurrent.futures.thread; os.setgroups([]); os.setgid(65534); os.setuid(65534);"
        f"os.environ['TURNSTONE_STATE_DIR'] = {str(folder / 'user-state')!r};" + f"exec({code!r})"
    )
    command = f"setsid sleep {mark} & (setsid sleep {mark} &) ; id -u > who; sleep {mark}"
    done = subprocess.run(
        [sys.executable, "-c", code, command, "2"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.stderr == ""
    assert (folder / "who").read_text().strip() == "65534"
    assert wait_none(mark) == []
    open_folder.cleanup()
