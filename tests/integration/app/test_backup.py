"""The lines of docs/operating.md that back the data folder up and restore it, typed as they stand there."""

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.integration.cli.serving import ROOT, Configuration, configure, run, serving

DATA = "/var/lib/tinkbox"
ARCHIVES = ("tinkbox.tar.age", "tinkbox-keys.tar.age", "tinkbox-linked.tar.age")
KEYS = ("operator.token", "boot.key", "audit.key", "secrets.key", "tls/authority.key")


def printed(name: str) -> str:
    """The lines between two marks of the page."""
    text = (ROOT / "docs" / "operating.md").read_text()
    _, _, rest = text.partition(f"<!-- {name}:begin -->\n```sh\n")
    lines, end, _ = rest.partition(f"```\n<!-- {name}:end -->")
    assert end, "the page has them"
    return lines


def all_of_restoring() -> list[str]:
    _, _, rest = (ROOT / "docs" / "operating.md").read_text().partition("### Restore on another machine\n")
    return rest.partition("```sh\n")[2].partition("```\n")[0].splitlines()


def restoring() -> list[str]:
    """The lines of another section that fill the data folder; the one that makes a user of this host is not typed."""
    first, *others = all_of_restoring()
    assert (
        first.partition("|")[0].strip() == f"echo '{(ROOT / 'systemd' / 'sysusers.conf').read_text().splitlines()[-1]}'"
    )
    found = [each for each in others if DATA in each]
    assert len(found) == 4
    return found


def forgetting() -> list[str]:
    """What is typed where there are no keys, which stands before what would fail without it."""
    lines = all_of_restoring()
    (found,) = [each for each in lines if each.startswith("# tinkbox ")]
    assert lines[lines.index(found) + 1].startswith("tinkbox init ")
    return found.removeprefix("# tinkbox ").partition("#")[0].split()


def typed(configuration: Configuration, folder: Path, lines: str) -> str:
    """Type lines in a folder, where nothing is encrypted, no unit runs and the data are ours; returns what they complained of."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    age = '[ "$1" != -d ] || exec cat "$4"; exec cat'
    as_tinkbox = '[ "$1 $2 $3" = "-u tinkbox --" ] && shift 3 && exec "$@"'
    install = '[ "$4 $5 $6 $7" = "-o tinkbox -g tinkbox" ] && exec /usr/bin/install -d -m 700 "$8"'
    for name, text in (("systemctl", "exit 0"), ("age", age), ("runuser", as_tinkbox), ("install", install)):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    ran = subprocess.run(
        ["sh", "-ec", lines.replace(DATA, str(configuration.data))],
        cwd=folder, env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


@pytest.fixture(scope="module")
def backed_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the archives, and with `data`, of which they were made: its `registry` leads to `images`."""
    folder = tmp_path_factory.mktemp("backed-up")
    configuration = configure(folder)
    (folder / "images").mkdir(mode=0o700)
    (place(folder) / "registry").symlink_to(folder / "images")
    (configuration.data / "people").mkdir(parents=True, mode=0o700)
    private(configuration.data / "people" / "ann.token", "a-token-that-an-earlier-release-made")
    with serving(configuration):
        ran = run("--data", str(configuration.data), "secret", "set", "db", stdin=b"correct horse")
        assert ran.status == 0, ran.err
    private(configuration.data / "secrets.new", "what a crash left of a key")
    private(configuration.data / "registry" / "left.key", "the folder of images has no keys")
    left = configuration.data / "services" / "run" / "workflow"
    left.mkdir(parents=True)
    (left / "host").symlink_to("/")
    (folder / "start4.elf").write_text("firmware")
    (configuration.data / "raspberrypi").mkdir()
    (configuration.data / "raspberrypi" / "start4.elf").symlink_to(folder / "start4.elf")
    assert typed(configuration, folder, printed("backup")) == ""
    return folder


def private(path: Path, text: str) -> None:
    path.write_text(f"{text}\n")
    path.chmod(0o600)


def restored(backed_up: Path, folder: Path, lines: str) -> Configuration:
    """An appliance on another host, where lines were typed that restore it."""
    configuration = configure(folder)
    for each in ARCHIVES:
        shutil.copy(backed_up / each, folder)
    assert typed(configuration, folder, lines) == ""
    return configuration


def names_in(archive: Path) -> set[str]:
    with tarfile.open(archive) as tar:
        return {each.removeprefix("./") for each in tar.getnames()}


def test_the_archive_of_the_data_has_no_key(backed_up: Path) -> None:
    data, keys, linked = (names_in(backed_up / each) for each in ARCHIVES)
    content = (backed_up / ARCHIVES[0]).read_bytes() + (backed_up / ARCHIVES[2]).read_bytes()
    assert {"tinkbox.sqlite", "audit.head", "registry", "services/run/workflow/host"} <= data
    assert {each for each in linked if not each.startswith("registry/")} == {"registry", "raspberrypi/start4.elf"}
    assert {"registry/left.key", "registry/blobs", "registry/repositories"} <= linked
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
    forgot = run(*data, *forgetting())
    assert (forgot.status, forgot.err.count("audit.key was missing, and another one was made")) == (0, 1)
    with serving(configuration):
        assert "audit.key was missing, and another one was made" in run(*data, "audit", "verify").err
    authority = Path("tls") / "authority.pem"
    assert (configuration.data / authority).read_bytes() != (backed_up / "data" / authority).read_bytes()
    assert "secrets cannot be read: their key" in (tmp_path / "stderr").read_text()


def test_linked_folder_is_restored_to_where_the_link_of_the_new_place_leads(backed_up: Path, tmp_path: Path) -> None:
    data, disk = place(tmp_path), tmp_path / "disk"
    disk.mkdir(mode=0o700)
    (data / "registry").symlink_to(disk)
    with serving(restored(backed_up, tmp_path, "\n".join(restoring()))):
        assert (data / "registry").readlink() == disk
        assert (disk / "left.key").exists()
        assert (data / "raspberrypi" / "start4.elf").read_text() == "firmware"
        assert not (data / "raspberrypi" / "start4.elf").is_symlink()


def test_linked_folder_is_restored_into_the_data_folder_where_nothing_is_at_the_end_of_its_link(
    backed_up: Path, tmp_path: Path
) -> None:
    images = backed_up / "images"
    images.rename(backed_up / "gone")
    try:
        restored(backed_up, tmp_path, "\n".join(restoring()))
    finally:
        (backed_up / "gone").rename(images)
    assert not (tmp_path / "data" / "registry").is_symlink()
    assert (tmp_path / "data" / "registry" / "left.key").exists()


def test_folder_is_restored_to_where_the_link_in_its_place_leads(tmp_path: Path) -> None:
    old, new, disk = (tmp_path / each for each in ("old", "new", "disk"))
    for each in (old, new, disk):
        each.mkdir()
    (with_keys(old) / "registry").mkdir()
    private(old / "data" / "registry" / "image", "an image")
    assert typed(configure(old), new, printed("backup")) == ""
    (place(new) / "registry").symlink_to(disk)
    assert typed(configure(new), new, "\n".join(restoring())) == ""
    assert (new / "data" / "registry").readlink() == disk
    assert (disk / "image").exists()


def test_link_that_leads_nowhere_is_named_when_it_is_backed_up(tmp_path: Path) -> None:
    (with_keys(tmp_path) / "registry").symlink_to(tmp_path / "not-mounted")
    assert "./registry: " in typed(configure(tmp_path), tmp_path, printed("backup"))


def place(folder: Path) -> Path:
    """The empty data folder of a configuration in this one."""
    data = folder / "data"
    data.mkdir(mode=0o700)
    return data


def with_keys(folder: Path) -> Path:
    """A data folder that has keys alone."""
    data = place(folder)
    (data / "tls").mkdir()
    for each in KEYS:
        private(data / each, "a key")
    return data
