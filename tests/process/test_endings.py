"""Nothing is left behind: ways to leave a process x ways to end (issue 6, item 3; C-24; faults 102 to 105, 110)."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from processes import SHELL, holders, start_server, token, until_some, wait_none, wait_some, ways

from turnstone_lsp.process import supervisor
from turnstone_lsp.process.environment import child_env

if TYPE_CHECKING:
    from collections.abc import Iterator

WAYS = list(ways("x"))
ENDS = ["timeout", "cancel", "end of session", "shutdown"]
DEATHS = ["SIGTERM", "SIGKILL", "stdin ends", "editor killed"]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    supervisor.shutdown()
    assert supervisor.background() == []


async def end_by(how: str, command: str, mark: str, count: int, cwd: Path) -> None:
    """Run the command, wait until its processes are there, and end it."""
    timeout = 4.0 if how == "timeout" else 600.0
    task = asyncio.ensure_future(
        supervisor.run([*SHELL, command], cwd=cwd, env=child_env(), timeout=timeout, owner="session")
    )
    await until_some(mark, count)
    if how == "timeout":
        outcome = await task
        assert outcome.ended == "timeout"
    elif how == "cancel":
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()
    elif how == "end of session":
        await supervisor.end("session")
        await task
    else:
        supervisor.shutdown()
        await task


@pytest.mark.parametrize("how", ENDS)
async def test_every_way_at_once(how: str, tmp_path: Path) -> None:
    mark = token()
    lines = [line for name, line in ways(mark).items() if name != "child"]
    command = "\n".join([*lines, f"sleep {mark}"])
    await end_by(how, command, mark, len(lines) + 1, tmp_path)
    assert wait_none(mark) == []


@pytest.mark.parametrize("how", DEATHS)
def test_every_way_at_once_when_the_server_dies(how: str, tmp_path: Path) -> None:
    """C-24: kill -9 of the server, or of its client, leaves nothing."""
    mark = token()
    lines = [line for name, line in ways(mark).items() if name != "child"]
    die(how, mark, ["\n".join([*lines, f"sleep {mark}"])], len(lines) + 1, tmp_path)
    assert wait_none(mark) == []


def die(how: str, mark: str, commands: list[str], count: int, cwd: Path) -> None:
    if how == "editor killed":
        editor = _editor(mark, commands, cwd)
        wait_some(mark, count)
        editor.kill()
        editor.wait()
        return
    server = start_server(mark, commands, cwd)
    wait_some(mark, count)
    if how == "stdin ends":
        assert server.stdin is not None
        server.stdin.close()
    else:
        server.send_signal(signal.Signals[how])
    server.wait(timeout=20)
    assert server.stdin is not None
    server.stdin.close()


def _editor(mark: str, commands: list[str], cwd: Path) -> subprocess.Popen[bytes]:
    """A process that holds the server's stdin, as an editor does."""
    folder = str(Path(__file__).parent.parent)
    code = (
        f"import sys; sys.path.insert(0, {folder!r}); from pathlib import Path; import processes;"
        f"processes.start_server({mark!r}, {commands!r}, Path({str(cwd)!r})).wait()"
    )
    return subprocess.Popen([sys.executable, "-c", code])


@pytest.mark.long
@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("way", WAYS)
async def test_the_table(way: str, how: str, tmp_path: Path) -> None:
    mark = token()
    command = f"{ways(mark)[way]}\nsleep {mark}"
    await end_by(how, command, mark, 1 if way == "child" else 2, tmp_path)
    assert wait_none(mark) == []


@pytest.mark.long
@pytest.mark.parametrize("how", DEATHS)
@pytest.mark.parametrize("way", WAYS)
def test_the_table_of_deaths(way: str, how: str, tmp_path: Path) -> None:
    mark = token()
    die(how, mark, [f"{ways(mark)[way]}\nsleep {mark}"], 1 if way == "child" else 2, tmp_path)
    assert wait_none(mark) == []


@pytest.mark.parametrize("how", ["end of session", "shutdown"])
async def test_what_a_finished_call_left_running_ends_with_the_session(how: str, tmp_path: Path) -> None:
    """Faults 104 and 105: the call returns, the server it started lives on and is owned."""
    mark = token()
    outcome = await supervisor.run(
        [*SHELL, f"setsid sleep {mark} & echo started"], cwd=tmp_path, env=child_env(), timeout=60, owner="session"
    )
    assert (outcome.exit_code, outcome.output) == (0, "started\n")
    assert [p.command for p in outcome.background] == [f"sleep {mark}"]
    assert [p.pid for p in outcome.background] == [pid for pid, _ in holders(mark)]
    assert [child.owner for child in supervisor.background("session")] == ["session"]
    await (supervisor.end("session") if how == "end of session" else asyncio.to_thread(supervisor.shutdown))
    assert wait_none(mark) == []


async def test_only_the_owner_s_processes_end(tmp_path: Path) -> None:
    mine, other = token(), token()
    for owner, mark in (("mine", mine), ("other", other)):
        await supervisor.run([*SHELL, f"sleep {mark} &"], cwd=tmp_path, env=child_env(), owner=owner)
    await supervisor.end("mine")
    assert wait_none(mine) == []
    assert len(holders(other)) == 1


async def test_a_background_process_that_is_killed_by_hand_is_forgotten(tmp_path: Path) -> None:
    """Fault 110: `kill PID` ends one sooner."""
    mark = token()
    outcome = await supervisor.run([*SHELL, f"sleep {mark} &"], cwd=tmp_path, env=child_env(), owner="s")
    child = supervisor.background("s")[0]
    await supervisor.run([*SHELL, f"kill {outcome.background[0].pid}"], cwd=tmp_path, env=child_env())
    await asyncio.wait_for(child.gone(), 10)
    assert supervisor.background("s") == []


async def test_the_supervisor_itself_is_killed(tmp_path: Path) -> None:
    """Then the server finds what carried the call's mark."""
    mark = token()
    task = asyncio.ensure_future(
        supervisor.run(
            [*SHELL, f"setsid sleep {mark} & kill -9 $PPID; sleep {mark}"], cwd=tmp_path, env=child_env(), timeout=60
        )
    )
    with pytest.raises(Exception, match="supervises commands was killed"):
        await task
    assert wait_none(mark) == []


async def test_a_graceful_end_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TERM, 500 ms (here ten times as long), KILL."""
    monkeypatch.setattr(supervisor, "Command", functools.partial(supervisor.Command, grace=5.0))
    mark = token()
    command = f"trap 'echo goodbye; exit' TERM; echo ready; sleep {mark} & wait"
    lines: list[str] = []
    task = asyncio.ensure_future(
        supervisor.run([*SHELL, command], cwd=tmp_path, env=child_env(), timeout=3, on_output=lines.append)
    )
    outcome = await task
    assert outcome.ended == "timeout"
    assert outcome.output == "ready\ngoodbye\n"
    assert wait_none(mark) == []


async def test_a_cancelled_call_ends_at_once(tmp_path: Path) -> None:
    """Idle before the processes are gone: the supervisor sees them off, deaf as they are."""
    mark = token()
    command = f"trap '' TERM; sleep {mark}"
    task = asyncio.ensure_future(supervisor.run([*SHELL, command], cwd=tmp_path, env=child_env()))
    await until_some(mark)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert len(supervisor.background()) == 1
    assert wait_none(mark) == []


async def test_cancelled_while_starting(tmp_path: Path) -> None:
    mark = token()
    for _ in range(5):
        task = asyncio.ensure_future(supervisor.run([*SHELL, f"sleep {mark}"], cwd=tmp_path, env=child_env()))
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    assert wait_none(mark) == []
