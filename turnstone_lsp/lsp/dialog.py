"""window/showMessageRequest: the one question box that LSP has, with its limits.

The first action is always harmless, a yes is never first. A null that comes at once was given by no person (faults.md
83); a client that answers so, with an error, or never, is remembered as one that cannot ask (faults.md 82), and its
questions wait in the transcript from then on. None of these is ever a yes.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Literal

from turnstone_lsp.lsp.edge import ClientError
from turnstone_lsp.lsp.editor import PERSON_SECONDS
from turnstone_lsp.process.text import visible

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from turnstone_lsp.lsp.connection import Connection
    from turnstone_lsp.lsp.prompts import Prompt

log = logging.getLogger(__name__)

DETAILS = "Show details"
INSTANT_SECONDS = 0.05
"""An answer that comes sooner was given by no person."""
_SILENT_SECONDS = 60.0
"""How long a question may stand unanswered before it is shown in the transcript too (faults.md 81)."""
_LONGEST = 1_500
_MOST_LINES = 25

Answer = Literal["closed", "cannot"] | str  # noqa: PYI051 - the two words beside the titles of actions


class Dialog:
    """Question boxes of one client, one at a time."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._one = asyncio.Lock()
        self._cannot = False
        """This client was seen not to ask its user."""

    async def ask(
        self,
        prompt: Prompt,
        text: str,
        no: Mapping[str, Any],
        yes: Mapping[str, Any],
        *,
        show: Callable[[], Awaitable[None]],
        shown: bool = False,
        patient: bool = True,
    ) -> Any:
        """The value of the chosen action, or what the prompt was answered with meanwhile.

        no, yes: titles of actions and the values they stand for; closing the box is the first of `no`. show: opens
        the details. shown: the user has the whole question before him elsewhere, so that a cut text may be agreed to.
        patient: a question that the client cannot ask stays open; else that is a no.
        """
        asking = asyncio.ensure_future(self._ask(prompt, text, no, yes, show, shown=shown, patient=patient))
        try:
            await asyncio.wait({asking, prompt.answer}, return_when=asyncio.FIRST_COMPLETED)
            return prompt.answer.result() if prompt.answer.done() else asking.result()
        finally:
            asking.cancel()

    async def _ask(
        self,
        prompt: Prompt,
        text: str,
        no: Mapping[str, Any],
        yes: Mapping[str, Any],
        show: Callable[[], Awaitable[None]],
        *,
        shown: bool,
        patient: bool,
    ) -> Any:
        async with self._one:
            message, whole = fitted(f"{prompt.title}\n{text}" if text != prompt.title else text)
            offered = {**no, **yes} if (whole or shown) and not self._connection.client.takes_typing else dict(no)
            for _ in range(2):
                if self._cannot:
                    break
                answer = await self._box(message, [DETAILS, *offered], show)
                if answer == DETAILS:
                    await show()
                elif answer in offered:
                    return offered[answer]
                elif answer == "closed":
                    return next(iter(no.values()))
                else:
                    self._cannot = True
        if self._cannot and not patient:
            return next(iter(no.values()))
        await show()
        return await asyncio.shield(prompt.answer)

    async def _box(self, message: str, titles: Sequence[str], show: Callable[[], Awaitable[None]]) -> Answer:
        """Ask once. After a while without an answer the details are shown; the box stays."""
        loop = asyncio.get_running_loop()
        params = {"type": 3, "message": message, "actions": [{"title": title} for title in titles]}
        started = loop.time()
        asking = asyncio.ensure_future(
            self._connection.ask("window/showMessageRequest", params, seconds=PERSON_SECONDS)
        )
        try:
            done, _ = await asyncio.wait({asking}, timeout=_SILENT_SECONDS)
            if not done:
                await show()
            answer = await asking
        except ClientError as error:
            log.info("the client cannot ask: %s", error)
            return "cannot"
        finally:
            asking.cancel()
        if answer is None:
            return "cannot" if loop.time() - started < INSTANT_SECONDS else "closed"
        title = answer.get("title") if isinstance(answer, dict) else None
        return title if isinstance(title, str) and title in titles else "closed"


def fitted(text: str) -> tuple[str, bool]:
    """A text for a box, made visible, and whether it is all there: what is cut may not be agreed to (C-18)."""
    shown = visible(text, keep="\n\t")
    lines = shown.split("\n")
    if len(shown) <= _LONGEST and len(lines) <= _MOST_LINES:
        return shown, True
    return "\n".join(lines[:_MOST_LINES])[:_LONGEST] + f"\n… ('{DETAILS}' has all of it, and the answers)", False
