"""Web search by Tavily's own client. Its host is fixed by the user's settings, so it is not under the guard."""

from __future__ import annotations

import asyncio
import importlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from turnstone_lsp.errors import ToolError
from turnstone_lsp.web import tls
from turnstone_lsp.web.answer import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turnstone_lsp.config.settings import ToolSettings

Topic = Literal["general", "news", "finance"]

TIMEOUT = 30.0
_SNIPPET = 1_000
_TITLE = 200

NO_KEY = (
    "web_search has no Tavily key. Ask the user to set TAVILY_API_KEY, or tavily_api_key under [tools] in the "
    "configuration (a free key: https://app.tavily.com); until then use web_fetch with a known URL."
)


@dataclass(frozen=True, slots=True)
class Found:
    """One result, cleaned: strangers' words."""

    title: str
    url: str
    snippet: str
    published: str = ""


async def search(query: str, *, max_results: int, topic: Topic, settings: ToolSettings) -> list[Found]:
    """The results in Tavily's order, at most `max_results`. Raises ToolError, one sentence for each kind of failure."""
    if not settings.tavily_api_key:
        raise ToolError(NO_KEY)
    answer = await _ask(query, max_results, topic, settings)
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list):
        raise ToolError(_unreadable())
    return list(_cleaned(results))[:max_results]


async def _ask(query: str, max_results: int, topic: Topic, settings: ToolSettings) -> Any:
    await asyncio.to_thread(importlib.import_module, "tavily")  # half a second, the first time
    import httpx
    from tavily import AsyncTavilyClient, errors

    context = await tls.shared_context()
    try:
        async with httpx.AsyncClient(verify=context) as client:
            tavily = AsyncTavilyClient(
                api_key=settings.tavily_api_key, api_base_url=settings.tavily_base_url or None, client=client
            )
            return await tavily.search(query, max_results=max_results, topic=topic, timeout=TIMEOUT)
    except errors.InvalidAPIKeyError:
        raise ToolError(
            "Tavily refuses the key (401). Ask the user to check TAVILY_API_KEY or tavily_api_key under [tools]."
        ) from None
    except errors.UsageLimitExceededError as error:
        raise ToolError(f"Tavily is asked too often (429){_said(error)}. Wait a minute, then search again.") from None
    except errors.ForbiddenError as error:
        raise ToolError(
            f"Tavily refuses the search{_said(error)}: the key's plan or quota does not cover it. Ask the user."
        ) from None
    except errors.BadRequestError as error:
        raise ToolError(f"Tavily does not accept this search (400){_said(error)}. Shorten or rephrase it.") from None
    except errors.TimeoutError:
        raise ToolError(f"Tavily did not answer within {TIMEOUT:g} s. Search again later.") from None
    except httpx.HTTPStatusError as error:
        raise ToolError(f"Tavily answered with status {error.response.status_code}. Search again later.") from None
    except httpx.InvalidURL:
        raise ToolError("tavily_base_url under [tools] is not a URL. Ask the user to correct or remove it.") from None
    except httpx.HTTPError:
        raise ToolError(
            "Tavily cannot be reached: no network, or a wrong tavily_base_url under [tools]. Ask the user to check."
        ) from None
    except (json.JSONDecodeError, UnicodeDecodeError, AttributeError, TypeError):
        # Of its own client: what it raises for an answer that is not the JSON it expects.
        raise ToolError(_unreadable()) from None


def _unreadable() -> str:
    return "Tavily's answer cannot be read. Search again later, or ask the user to check tavily_base_url under [tools]."


def _said(error: Exception) -> str:
    words = plain(" ".join(str(error).split()), 200)
    return f", saying: {words.rstrip('.')}" if words else ""


def _cleaned(results: Iterable[Any]) -> Iterable[Found]:
    """What can be shown of the results: a usable address each, and words without markup."""
    for result in results:
        if not isinstance(result, dict):
            continue
        url = _usable(result.get("url"))
        if url is None:
            continue
        title, content, published = (result.get(name) or "" for name in ("title", "content", "published_date"))
        yield Found(
            title=" ".join(plain(str(title), _TITLE).split()) or url,
            url=url,
            snippet=" ".join(plain(str(content), _SNIPPET).split()),
            published=plain(str(published), 40),
        )


def _usable(url: Any) -> str | None:
    """An http(s) URL as one word; None for anything else."""
    if not isinstance(url, str) or len(url) > 2_048 or plain(url, 4_096) != url or len(url.split()) != 1:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return url if parts.scheme in {"http", "https"} and parts.netloc else None
