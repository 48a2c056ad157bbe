"""The lines of docs/operating.md that back the data folder up and restore it, typed as they stand there."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.integration.cli.serving import ROOT, Configuration, configure, run, serving

DATA = "/var/lib/tinkbox"
ARCHIVES = ("tinkbox.tar.age", "tinkbox-keys.tar.age")
KEYS = ("operator.token", "boot.key", "audit.key", "secrets.key", "tls/authority.key")


def printed(name: str) -> str:
    """The lines between two marks of the page."""
    text = (ROOT / "docs" / "operating.md").read_text()
    _, _, rest = text.partition(f"<!-- {name}:begin -->\n```sh\n")
    lines, end, _ = rest.partition(f"```\n<!-- {name}:end -->")
    assert end, "the page has them"
    return lines


def restoring() -> list[str]:
    """The lines of another section that fill the data folder."""
    _, _, rest = (ROOT / "docs" / "operating.md").read_text().partition("### Restore on another machine\n")
    lines, _, _ = rest.partition("```sh\n")[2].partition("```\n")
    found = [each for each in lines.splitlines() if DATA in each]
    assert len(found) == 3
    return found


def typed(configuration: Configuration, folder: Path, lines: str) -> None:
    """Type lines in a folder, where nothing is encrypted and no unit runs."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    age = '[ "$1" != -d ] || exec cat "$4"; exec cat'
    for name, text in (("systemctl", "exit 0"), ("age", age)):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    ran = subprocess.run(
        ["sh", "-ec", lines.replace(DATA, str(configuration.data))],
        cwd=folder, env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.fixture(scope="module")
def backed_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both archives, and with `data`, of which they were made."""
    folder = tmp_path_factory.mktemp("backed-up")
    configuration = configure(folder)
    (configuration.data / "people").mkdir(parents=True, mode=0o700)
    private(configuration.data / "people" / "ann.token", "a-token-that-an-earlier-release-made")
    with serving(configuration):
        ran = run("--data", str(configuration.data), "secret", "set", "db", stdin=b"correct horse")
        assert ran.status == 0, ran.err
    private(configuration.data / "secrets.new", "what a crash left of a key")
    private(configuration.data / "registry" / "left.key", "the folder of images has no keys")
    typed(configuration, folder, printed("backup"))
    return folder


def private(path: Path, text: str) -> None:
    path.write_text(f"{text}\n")
    path.chmod(0o600)


def restored(backed_up: Path, folder: Path, lines: str) -> Configuration:
    """An appliance on another host, where lines were typed that restore it."""
    configuration = configure(folder)
    for each in ARCHIVES:
        shutil.copy(backed_up / each, folder)
    typed(configuration, folder, lines)
    return configuration


def names_in(archive: Path) -> set[str]:
    with tarfile.open(archive) as tar:
        return {each.removeprefix("./") for each in tar.getnames()}


def test_the_archive_of_the_data_has_no_key(backed_up: Path) -> None:
    data, keys = (names_in(backed_up / each) for each in ARCHIVES)
    content = (backed_up / ARCHIVES[0]).read_bytes()
    assert {"tinkbox.sqlite", "audit.head", "registry/left.key"} <= data
    assert [each for each in data if each.startswith(("tls", "operator", "people"))] == []
    for name in (*KEYS, "secrets.new"):
        assert (backed_up / "data" / name).read_text().strip().encode() not in content, name
    assert b"PRIVATE KEY" not in content
    assert {*KEYS, "tls/server.pem", "tls/authority.pem"} <= keys


def test_what_is_restored_from_both_is_the_same_appliance(backed_up: Path, tmp_path: Path) -> None:
    configuration = restored(backed_up, tmp_path, "\n".join(restoring()))
    with serving(configuration):
        assert b'"db"' in configuration.asked("/v1/secrets")
        assert run("--data", str(configuration.data), "audit", "verify").status == 0
    for name in (*KEYS, "tls/authority.pem"):
        assert (configuration.data / name).read_bytes() == (backed_up / "data" / name).read_bytes(), name
    assert "secrets cannot be read" not in (tmp_path / "stderr").read_text()


def test_what_is_restored_without_the_keys_starts_with_another_authority_and_tells_what_is_missing(
    backed_up: Path, tmp_path: Path
) -> None:
    lines = [each for each in restoring() if "keys" not in each]
    configuration = restored(backed_up, tmp_path, "\n".join(lines))
    refused = run("serve", "--config", str(configuration.path))
    assert (refused.status, "has no authority" in refused.err) == (1, True)
    data = ("--data", str(configuration.data))
    forgot = run(*data, "authority", "--forget")
    assert forgot.status == 0, forgot.err
    with serving(configuration):
        assert "its seal is wrong" in run(*data, "audit", "verify").err
    authority = Path("tls") / "authority.pem"
    assert (configuration.data / authority).read_bytes() != (backed_up / "data" / authority).read_bytes()
    assert "secrets cannot be read: their key" in (tmp_path / "stderr").read_text()
