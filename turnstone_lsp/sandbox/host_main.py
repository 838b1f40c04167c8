"""A host: an exec'd process that imports a task's libraries once and forks a confined child for each call.

Started by `host.Host`, never imported by the server. Standard input and output are its control pipe; it ends when the
server's end closes. Its environment and memory hold nothing of the user's.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import os
import resource
import sys
from typing import Any, NoReturn

from turnstone_lsp.sandbox import child, frames, kernel, libraries, limits, namespaces, selftest
from turnstone_lsp.sandbox.calls import Call, Calls
from turnstone_lsp.sandbox.levels import ALL, Level, offered

_CHUNK = 1 << 20
_DESCRIPTORS = 256
_KILLED_FIRST = b"500"
"""oom_score_adj: when memory runs out, the host goes before the editor."""


def main(task: str, highest: Level, folders: dict[str, str]) -> NoReturn:
    """Serve the calls of a task ("math", "html", or "probe", which only tells the level), at most at `highest`."""
    control, null = _take_control()
    fatal = True
    try:
        libraries.make_importable(folders)
        work: Any = importlib.import_module(f"turnstone_lsp.sandbox.{task}_child")
        level = _choose(highest)
        work.prepare()
        _assert_single_threaded()
        gc.collect()
        gc.freeze()
        fatal = False
        calls = Calls(_confine(level, libraries.readable(folders)), null)
        proved, why = selftest.prove(calls, level)
        control.send({"ready": proved, "why": why})
    except BaseException as error:  # noqa: BLE001 - told to the server, which tries a lower level or gives up
        control.send({"failed": f"{type(error).__name__}: {error}", "fatal": fatal})
        os._exit(1)
    Server(control, calls, work).serve()


def _confine(level: Level, readable: list[str]) -> child.Confinement:
    """Put the host itself behind what need not be done for each call; what is left for each call."""
    if level == "L4":
        namespaces.enter(readable)
        _follow_first_child()
    if kernel.machine():
        limits.drop_capabilities()
    return child.Confinement.build(level, readable)


class Control:
    """The host's end of the control pipe."""

    def __init__(self, reading: int, writing: int) -> None:
        self.reading = reading
        self._writing = writing
        self._unpacker = frames.Unpacker()

    def send(self, header: frames.Header, body: bytes = b"") -> None:
        """Send a frame; the host ends with a server that no longer listens."""
        data = memoryview(frames.pack(header, body))
        try:
            while data:
                data = data[os.write(self._writing, data) :]
        except OSError:
            os._exit(0)

    def receive(self) -> list[tuple[frames.Header, bytes]] | None:
        """The frames that are complete after one read; None when the server's end is closed."""
        data = os.read(self.reading, _CHUNK)
        self._unpacker.feed(data)
        return list(iter(self._unpacker.take, None)) if data else None


class Server:
    """Answers requests: {"id", "timeout", "cap"} with a body runs a call, {"cancel": id} ends one."""

    def __init__(self, control: Control, calls: Calls, work: Any) -> None:
        self._control = control
        self._calls = calls
        self._work = work
        self._running: dict[int, Call] = {}

    def serve(self) -> NoReturn:
        """Serve until the server's end of the pipe closes."""
        while True:
            if self._calls.step(self._control.reading):
                received = self._control.receive()
                if received is None:
                    self._end()
                for header, body in received:
                    self._deal_with(header, body)

    def _end(self) -> NoReturn:
        for call in self._running.values():
            call.stop("cancelled")
        os._exit(0)

    def _deal_with(self, header: frames.Header, body: bytes) -> None:
        if (cancelled := header.get("cancel")) is not None:
            if (call := self._running.get(cancelled)) is not None:
                call.stop("cancelled")
            return
        number = int(header["id"])
        done = functools.partial(self._answer, number)
        run = functools.partial(self._work.run, header, body)
        try:
            timeout, cap = float(header["timeout"]), int(header["cap"])
            self._running[number] = self._calls.start(run, timeout=timeout, cap=cap, done=done)
        except OSError as error:
            self._control.send({"id": number, "how": "unconfined", "signal": 0, "cpu": 0.0, "why": str(error)})

    def _answer(self, number: int, call: Call) -> None:
        del self._running[number]
        self._control.send({"id": number, "how": call.how, "signal": call.signal, "cpu": call.cpu}, bytes(call.data))


def _take_control() -> tuple[Control, int]:
    """Move the control pipe away from the standard streams, which calls replace, and occupy the numbers they use.

    The control pipe, and the null device as a descriptor.
    """
    resource.setrlimit(resource.RLIMIT_NOFILE, (_DESCRIPTORS, _DESCRIPTORS))
    while (null := os.open(os.devnull, os.O_RDWR)) <= child.STATUS_FD:
        pass
    control = Control(os.dup(0), os.dup(1))
    for stream in (0, 1):
        os.dup2(null, stream)
    with contextlib.suppress(OSError):
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(descriptor, _KILLED_FIRST)
        os.close(descriptor)
    return control, null


def _choose(highest: Level) -> Level:
    """The highest level for which this kernel has the layers."""
    level = ALL[max(ALL.index(highest), ALL.index(offered()))]
    if (highest, level) == ("L4", "L3") and namespaces.available(libraries.readable(())):
        return "L4"
    return level


def _assert_single_threaded() -> None:
    """A child forked from a process with threads may find locks held for ever."""
    with contextlib.suppress(FileNotFoundError):
        count = len(os.listdir("/proc/self/task"))
        if count != 1:
            raise RuntimeError(f"the libraries started {count - 1} threads")


def _follow_first_child() -> None:
    """Go on in a child, the first process of the new process namespace; the parent only waits and ends as it does."""
    pid = os.fork()
    if pid == 0:
        kernel.die_with_parent(0)  # the parent is outside, where it has no number that is seen here
        return
    limits.drop_capabilities()
    os.closerange(0, _DESCRIPTORS)
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


if __name__ == "__main__":
    sys.exit("started by the server")
