"""The programs that one would run instead, configured for the same work; both are ready when they are returned."""

import json
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path
from subprocess import Popen

from examples.lab.network import Network
from examples.lab.processes import start, stop
from tests.bench.lab import PEERS, answers, as_server, until

# Debian starts it where it is installed; `make bench` unpacks it.
DOCKER_REGISTRY = str(PEERS / "docker-registry" / "usr" / "bin" / "docker-registry")
# As Debian configures it; the unix socket is where it is asked whether it answers.
_NGINX = """\
daemon off;
user root;
worker_processes auto;
pid {work}/nginx.pid;
events {{ worker_connections 4096; }}
http {{
  sendfile on;
  tcp_nopush on;
  access_log {work}/nginx-access.log;
  default_type application/octet-stream;
  server {{ listen {listens}; listen unix:{socket}; root {root}; }}
}}
"""
# It streams, as the node door does: by default it would hold uploads, and large answers, in files.
_NGINX_PROXY = """\
daemon off;
user root;
worker_processes auto;
pid {work}/nginx-proxy.pid;
events {{ worker_connections 768; }}
http {{
  access_log off;
  keepalive_requests 1000000;
  client_max_body_size 0;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_request_buffering off;
  proxy_max_temp_file_size 0;
  server {{ listen unix:{socket}; }}
  {servers}
}}
"""
_PROXIED = """\
  upstream service-{port} {{ server 127.0.0.1:{service}; keepalive 32; }}
  server {{ listen {address}:{port}; location / {{ proxy_pass http://service-{port}; }} }}
"""
# A lease file, rewritten for every lease, would hold it back: tinkbox writes nothing for a reservation either.
_DNSMASQ = """\
keep-in-foreground
port=0
user=root
interface={interface}
bind-interfaces
pid-file={pid}
log-facility={work}/dnsmasq-events.log
leasefile-ro
dhcp-authoritative
dhcp-range={address},static,{netmask},86400
dhcp-option=option:router,{address}
dhcp-boot=snponly.efi,,{address}
enable-tftp
tftp-root={work}
"""
# As Debian configures it, but for where it is.
_DOCKER_REGISTRY = """\
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage:
  cache: {{blobdescriptor: inmemory}}
  filesystem: {{rootdirectory: {work}/images}}
  delete: {{enabled: true}}
http: {{addr: "127.0.0.1:{port}"}}
"""


# Its lease file is a journal, which it does not flush; what it says of each packet is turned off.
_KEA_LOG = [{"name": "kea-dhcp4", "severity": "ERROR", "output_options": [{"output": "stdout"}]}]


def start_nginx(
    network: Network, work: Path, root: Path, listens: str = "", where: Callable[..., list[str]] = as_server
) -> None:
    """Serve the folder `root`, at the network's address unless told otherwise; stops with the network."""
    path, listening = work / "nginx.conf", work / "nginx.sock"
    listening.unlink(missing_ok=True)
    path.write_text(_NGINX.format(work=work, listens=listens or f"{network.address}:80", socket=listening, root=root))
    with (work / "nginx.log").open("wb") as log:
        network.start(where("nginx", "-p", work, "-c", path, "-e", work / "nginx-error.log"), stdout=log)
    until(lambda: answers(listening), "nginx")


def start_nginx_proxy(network: Network, work: Path, services: Mapping[int, int]) -> Popen[bytes]:
    """Pass on what comes at each port to a port of loopback; stops with the network."""
    path, listening = work / "nginx-proxy.conf", work / "nginx-proxy.sock"
    listening.unlink(missing_ok=True)
    servers = "".join(
        _PROXIED.format(address=network.address, port=port, service=service) for port, service in services.items()
    )
    path.write_text(_NGINX_PROXY.format(work=work, socket=listening, servers=servers))
    with (work / "nginx-proxy.log").open("wb") as log:
        command = as_server("nginx", "-p", work, "-c", path, "-e", work / "nginx-proxy-error.log")
        process = network.start(command, stdout=log)
    until(lambda: answers(listening), "nginx")
    return process


def start_dnsmasq(
    network: Network,
    work: Path,
    reservations: Iterable[tuple[str, str]] = (),
    *,
    netmask: str = "255.255.255.0",
    more: Iterable[str] = (),
) -> None:
    """DHCP for reserved addresses only, and TFTP; `reservations` are MAC and IPv4 address.  Stops with the network.

    `more` are further lines of its configuration.
    """
    path, pid = work / "dnsmasq.conf", work / "dnsmasq.pid"
    pid.unlink(missing_ok=True)
    settings = _DNSMASQ.format(
        work=work, interface=network.interface, address=network.address, netmask=netmask, pid=pid
    )
    lines = [*more, *(f"dhcp-host={mac},{address}" for mac, address in reservations)]
    path.write_text(settings + "".join(f"{line}\n" for line in lines))
    with (work / "dnsmasq.log").open("wb") as log:
        network.start(as_server("dnsmasq", f"--conf-file={path}"), stdout=log)
    until(pid.exists, "dnsmasq")  # it writes the file when it has bound all its sockets


def start_kea(
    network: Network,
    work: Path,
    address: IPv4Interface,
    reservations: Iterable[tuple[str, str]],
    pool: tuple[IPv4Address, IPv4Address],
) -> None:
    """DHCP for reserved addresses and for a pool, with its lease file.  Stops with the network."""
    path, log = work / "kea.conf", work / "kea.log"
    subnet = {
        "subnet": str(address.network),
        "pools": [{"pool": f"{pool[0]} - {pool[1]}"}],
        "option-data": [{"name": "routers", "data": str(address.ip)}],
        "boot-file-name": "snponly.efi",
        "next-server": str(address.ip),
        "reservations": [{"hw-address": mac, "ip-address": reserved} for mac, reserved in reservations],
    }
    leases = {"type": "memfile", "persist": True, "name": str(work / "kea-leases.csv"), "lfc-interval": 0}
    served = {
        "interfaces-config": {"interfaces": [network.interface], "dhcp-socket-type": "udp"},
        "lease-database": leases,
        "valid-lifetime": 86_400,
        "subnet4": [subnet],
        "loggers": _KEA_LOG,
    }
    path.write_text(json.dumps({"Dhcp4": served}))
    places = [f"KEA_PIDFILE_DIR={work}", f"KEA_LOCKFILE_DIR={work}"]
    with log.open("wb") as written:
        network.start(["env", *places, *as_server("kea-dhcp4", "-c", path)], stdout=written)
    until(lambda: network.run(["ss", "-lnuH", "sport = 67"]) != "", "Kea")


@contextmanager
def start_docker_registry(work: Path, port: int) -> Iterator[None]:
    """A registry on loopback that keeps images in a folder below `work`, until this ends."""
    path = work / "registry.yml"
    path.write_text(_DOCKER_REGISTRY.format(work=work, port=port))
    with (work / "registry.log").open("wb") as log:
        process = start(as_server(DOCKER_REGISTRY, "serve", path), stdout=log)
    try:
        until(lambda: _listens(port), "docker-registry")
        yield
    finally:
        stop(process)


def _listens(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0
