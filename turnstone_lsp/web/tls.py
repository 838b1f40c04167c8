"""The TLS settings of everything that goes to the web: built once, off the event loop (it takes 150 ms)."""

from __future__ import annotations

import asyncio
import functools
import ssl
from pathlib import Path


async def shared_context() -> ssl.SSLContext:
    """A context that verifies certificates against the system's authorities, shared by all connections."""
    return await asyncio.to_thread(_build)


@functools.cache
def _build() -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"] and not _system_folder():
        import httpx  # a system without certificates: those that httpx brings

        context = httpx.create_ssl_context(trust_env=False)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _system_folder() -> bool:
    """Whether OpenSSL's folder of certificates, which is read on demand, holds any."""
    folder = ssl.get_default_verify_paths().capath
    return bool(folder) and any(Path(folder).iterdir())
