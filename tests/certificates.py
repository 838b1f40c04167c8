"""Certificates for servers of tests, made by the openssl program: a CA of our own and what it signs."""

from __future__ import annotations

import ssl
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_CA_CONFIG = """[ca]
default_ca=this
[this]
dir={folder}
new_certs_dir={folder}
database={folder}/index.txt
serial={folder}/serial
certificate={folder}/ca.pem
private_key={folder}/ca.key
default_md=sha256
policy=any
unique_subject=no
copy_extensions=copy
[any]
commonName=supplied
"""


class Authority:
    """A certificate authority in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "index.txt").touch()
        (folder / "serial").write_text("01\n")
        (folder / "ca.cnf").write_text(_CA_CONFIG.format(folder=folder))
        self._make("ca", "-x509", "-days", "30", "-subj", "/CN=Test CA")

    def client(self) -> ssl.SSLContext:
        """A client's context that trusts this authority alone."""
        return ssl.create_default_context(cafile=str(self.folder / "ca.pem"))

    def server(self, kind: str, name: str) -> ssl.SSLContext:
        """A server's context for `name`: "self" signed by itself, "expired", else a certificate for the name `kind`."""
        subject = name if kind in {"self", "expired"} else kind
        label = f"{kind}-{subject}"
        if not (self.folder / f"{label}.pem").exists():
            san = ("-addext", f"subjectAltName=DNS:{subject}", "-subj", f"/CN={subject[:60]}")
            if kind == "self":
                self._make(label, "-x509", "-days", "30", *san)
            else:
                self._make(label, *san, out="csr")
                dates = (
                    ("-startdate", "20200101000000Z", "-enddate", "20200201000000Z")
                    if kind == "expired"
                    else ("-days", "30")
                )
                self._openssl(
                    *("ca", "-batch", "-notext", "-config", "ca.cnf", *dates),
                    *("-in", f"{label}.csr", "-out", f"{label}.pem"),
                )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / f"{label}.pem", self.folder / f"{label}.key")
        return context

    def _make(self, label: str, *options: str, out: str = "pem") -> None:
        self._openssl(
            *("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-keyout", f"{label}.key", "-out", f"{label}.{out}", *options),
        )

    def _openssl(self, *arguments: str) -> None:
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
