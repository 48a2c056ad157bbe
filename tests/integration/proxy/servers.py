"""Web servers that nobody here wrote, serving a folder at a port of loopback; each answers when its `with` begins."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from examples.lab.processes import start, stop
from tests.integration.cli.serving import own_ports

SECONDS = 60
_NGINX = """\
daemon off;
user root;
worker_processes 1;
pid {work}/nginx.pid;
events {{ worker_connections 64; }}
http {{
  sendfile on;
  access_log off;
  absolute_redirect off;
  client_body_temp_path {work}/nginx-bodies;
  proxy_temp_path {work}/nginx-proxied;
  fastcgi_temp_path {work}/nginx-fastcgi;
  uwsgi_temp_path {work}/nginx-uwsgi;
  scgi_temp_path {work}/nginx-scgi;
  default_type application/octet-stream;
  server {{
    listen 127.0.0.1:{port};
    root {root};
    location / {{ dav_methods PUT DELETE; client_max_body_size 0; }}
    location /little/ {{ dav_methods PUT; client_max_body_size 1k; }}
    location /packed/ {{ gzip on; gzip_types *; gzip_min_length 1; }}
  }}
}}
"""


def nginx(work: Path, root: Path) -> AbstractContextManager[int]:
    """It takes files by PUT as well, below /little/ small ones only, and compresses what is below /packed/."""

    def command(port: int) -> Sequence[str]:
        configuration = work / "nginx.conf"
        configuration.write_text(_NGINX.format(work=work, port=port, root=root))
        return ["nginx", "-p", str(work), "-c", str(configuration), "-e", str(work / "nginx.log")]

    return _serving(work, command)


def busybox(work: Path, root: Path) -> AbstractContextManager[int]:
    """The server that many small systems have."""
    return _serving(work, lambda port: ["busybox", "httpd", "-f", "-p", f"127.0.0.1:{port}", "-h", str(root)])


def python(work: Path, root: Path) -> AbstractContextManager[int]:
    """It speaks HTTP/1.0."""
    own = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(root)]
    return _serving(work, lambda port: [*own, str(port)])


@contextmanager
def _serving(work: Path, command: Callable[[int], Sequence[str]]) -> Iterator[int]:
    (port,) = own_ports(1)
    with (work / "server.log").open("wb") as log:
        process = start(command(port), stdout=log)
    try:
        subprocess.run(
            ["curl", "--silent", "--output", "/dev/null", "--retry", "100", "--retry-connrefused", "--retry-delay", "0",
             "--retry-max-time", str(SECONDS), f"http://127.0.0.1:{port}/"],
            check=True, timeout=SECONDS,
        )  # fmt: skip
        yield port
    finally:
        stop(process)
