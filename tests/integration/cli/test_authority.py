"""The box's authority, from the operator's side."""

import getpass
import json
import re
import shutil
import socket
import ssl
import subprocess
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from pathlib import Path
from urllib.request import urlopen

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.integration.api.door import image_archive
from tests.integration.cli.serving import PROGRAM, ROOT, clean_environment, configure, give_osie, run, run_here, serving
from tests.integration.engine.appliance import hardware
from tinkbox.certificates.issuing import new_key, self_signed, signed
from tinkbox.door.connections.encryption import HANDSHAKE
from tinkbox.wire.authority import fingerprint


def test_serve_tells_the_fingerprint_of_what_everybody_may_fetch(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    with serving(configuration), urlopen(f"http://127.0.0.1:{configuration.http_port}/authority.pem") as answer:
        certificate = answer.read().decode()
        assert answer.headers["Content-Type"] == "application/x-x509-ca-cert; charset=utf-8"
    assert certificate == (configuration.data / "tls/authority.pem").read_text()
    told = f"├─ authority       {fingerprint(ssl.PEM_cert_to_DER_cert(certificate))}\n"
    starting = [*PROGRAM, "serve", "--config", str(configuration.path)]
    with subprocess.Popen(starting, stdout=subprocess.PIPE, cwd=ROOT, env=clean_environment(), text=True) as process:
        assert process.stdout is not None
        assert told in takewhile(lambda line: not line.startswith("└─"), process.stdout)
        process.terminate()


def test_box_that_lost_its_authority_does_not_start_and_says_why(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    with serving(configuration):
        pass
    give_osie(configuration.data)
    assert run("serve", "--config", str(configuration.path), "--check").status == 0
    (configuration.data / "tls/authority.key").unlink()
    lost = f"{configuration.data}/tls/authority.key is lost, the key of the authority"
    failed = run("serve", "--config", str(configuration.path))
    assert failed.status == 1
    assert failed.err.startswith(f"tinkbox: {lost}")
    checked = run("serve", "--config", str(configuration.path), "--check")
    assert checked.status == 1
    assert f"wrong: {lost}" in checked.out
    shutil.rmtree(configuration.data / "tls")
    (told,) = {
        line
        for line in run_here("serve", "--config", str(configuration.path), "--check").out.splitlines()
        if line.startswith("wrong:")
    }
    failed = run("serve", "--config", str(configuration.path))
    assert (failed.status, failed.err) == (1, told.replace("wrong: ", "tinkbox: ") + "\n")
    assert not (configuration.data / "tls").exists()
    forget = ("--data", str(configuration.data), "authority", "--forget")
    assert f"`tinkbox {' '.join(forget)}`" in told
    forgotten = run_here(*forget)
    assert (forgotten.status, "Forgotten: SHA256:" in forgotten.out) == (0, True), forgotten.err
    with serving(configuration):
        assert (configuration.data / "tls/authority.key").exists()
        data = ("--data", str(configuration.data))
        asked, done = json.loads(run_here(*data, "audit", "list", "--every", "--sort", "number", "-o", "json").out)
        assert (done["who"], done["how"], done["from"], done["asked"]) == (
            getpass.getuser(),
            "command",
            "",
            asked["number"],
        )
        forgot = forgotten.out.split()[1].rstrip(".")
        assert (done["what"], done["did"]) == (
            "authority --forget", [{"what": "authority forgotten", "which": forgot}],
        )  # fmt: skip
        examined = run_here(*data, "audit", "verify")
        assert (examined.status, examined.out.startswith("2 lines, 1 to 2: ")) == (0, True), examined.err
        refused = run_here(*forget)
        assert (refused.status, "another tinkbox serves" in refused.err) == (1, True)
    shutil.rmtree(configuration.data / "tls")
    assert run_here("serve", "--config", str(configuration.path), "--check").status == 1


def test_authority_of_a_folder_without_an_appliance_is_not_forgotten(tmp_path: Path) -> None:
    failed = run_here("--data", str(tmp_path), "authority", "--forget")
    assert (failed.status, f"{tmp_path} has no appliance" in failed.err) == (1, True)
    assert [*tmp_path.iterdir()] == []


def test_box_is_logged_in_to_and_asked_from_another_host(tmp_path: Path) -> None:
    """Questions, what is followed, and uploads, each over TLS."""
    configuration = configure(tmp_path)
    away = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    url = f"https://127.0.0.1:{configuration.operator_port}"
    with serving(configuration):
        shown = run("--data", str(configuration.data), "authority")
        assert shown.out == configuration.authority.read_text()
        token = (configuration.data / "operator.token").read_bytes()
        done = run("login", url, "--fingerprint", shown.err.strip(), stdin=token, environment=away)
        assert done.status == 0, done.err
        pushed = run("hardware", "push", stdin=json.dumps(hardware(1)).encode(), environment=away)
        assert pushed.status == 0, pushed.err
        assert "machine-1" in run("status", environment=away).out
        archive = tmp_path / "one.tar"
        archive.write_bytes(image_archive("one:v1"))
        assert run("image", "load", str(archive), environment=away).status == 0
        clear = run("osie", "list", environment={**away, "TINKBOX_SERVER": url.replace("https", "http")})
        assert (clear.status, f"write {url}" in clear.err) == (1, True), clear.err
        machines = f"https://127.0.0.1:{configuration.https_port}"
        wrong = run("login", machines, "--fingerprint", shown.err.strip(), stdin=token, environment=away)
        assert (wrong.status, f"`tinkbox login {url}`" in wrong.err) == (1, True), wrong.err


def answered(port: int, said: bytes) -> bytes:
    """All that a port answers to this."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(said)
        return b"".join(iter(partial(connection.recv, 1 << 16), b""))


def told_to(port: int, said: bytes) -> str:
    """What to do, by the problem document that a port answers to this; it has no header that names a program."""
    head, _, body = answered(port, said).partition(b"\r\n\r\n")
    assert b"Content-Type: application/problem+json" in head
    assert b"Server" not in head
    return str(json.loads(body)["detail"])


def test_operators_certificate_is_shown_at_both_doors_to_who_asks_by_its_name(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    now = datetime.now(UTC)
    firm, key = self_signed(new_key()), new_key()
    chain, private, ca = tmp_path / "chain.pem", tmp_path / "key.pem", tmp_path / "firm.pem"
    chain.write_bytes(signed(firm, key.public_key(), ["localhost"], now).public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    ca.write_bytes(firm.certificate.public_bytes(Encoding.PEM))
    with configuration.path.open("a") as more:
        more.write(f"tls: {{certificate: {chain}, key: {private}, names: [box.example.org]}}\n")
    with serving(configuration):
        for port in (configuration.operator_port, configuration.https_port):
            for host, trusted in (("localhost", ca), ("127.0.0.1", configuration.authority)):
                curl = ["curl", "-sS", "-o", "/dev/null", "--cacert", trusted, f"https://{host}:{port}/healthz"]
                done = subprocess.run(curl, capture_output=True, text=True, check=False)
                assert (done.returncode, done.stderr) == (0, "")
            named = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername", "box.example.org"]
            verified = [
                *named,
                "-CAfile",
                configuration.authority,
                "-verify_hostname",
                "box.example.org",
                "-x509_strict",
            ]
            done = subprocess.run(verified, input="", capture_output=True, text=True, check=False)
            assert "Verify return code: 0 (ok)" in done.stdout, done.stdout
            # Which are spoken without forward secrecy: at the operator door none.
            for suite in ("AES128-SHA", "AES128-GCM-SHA256"):
                without = [*named, "-tls1_2", "-cipher", suite]
                done = subprocess.run(without, input="", capture_output=True, text=True, check=False)
                assert (f"Cipher    : {suite}" in done.stdout) == (port == configuration.https_port), done.stdout
            assert (
                told_to(port, b"GET / HTTP/1.1\r\n\r\n")
                == f"this door speaks HTTPS alone: write https://127.0.0.1:{port}"
            )
        urls = f"http://127.0.0.1:{configuration.http_port} or https://127.0.0.1:{configuration.https_port}"
        assert told_to(configuration.http_port, HANDSHAKE) == f"this port speaks plain HTTP: write {urls}"
        for said in (b"GET /healthz HTTP/1.0\r\n\r\n", b"GE T / HTTP/1.1\r\n\r\n"):
            assert re.findall(rb"(?i)server: .*", answered(configuration.http_port, said)) == [b"Server: tinkbox\r"]
    chain.write_text("damaged")
    checked = run("serve", "--config", str(configuration.path), "--check")
    assert (checked.status, f"wrong: tls.certificate: {chain} holds no certificate" in checked.out) == (1, True)
    with serving(configuration):
        curl = ["curl", "-sS", "-o", "/dev/null", "--cacert", str(configuration.authority)]
        subprocess.run([*curl, f"https://127.0.0.1:{configuration.https_port}/healthz"], check=True)
        assert f"tls.certificate: {chain} holds no certificate" in (configuration.data.parent / "stderr").read_text()
