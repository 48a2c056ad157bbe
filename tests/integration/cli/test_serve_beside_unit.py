"""`tinkbox serve --check` on a host where a unit of systemd is installed: what the unit says counts, and systemd need not run."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.everybodys_checkout import BEFORE, PYTHON
from tests.integration.cli.serving import (
    Configuration,
    Ended,
    clean_environment,
    configure,
    give_osie,
    run_here,
    serving,
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces, and files of other users")
USER, UID = "daemon", 1
DROP_IN = (
    "[Service]\nLoadCredentialEncrypted=tinkbox-authority-key:/etc/tinkbox/authority.cred\n"
    "LoadCredentialEncrypted=tinkbox-secrets-key\n"
)
# With folders of the test in the places of the host's.
ON_HOST = 'mount --bind "$UNITS" /etc/systemd/system && if [ -n "$STATE" ]; then mount --bind "$STATE" /var/lib; fi && exec "$0" "$@"'


@pytest.fixture
def host() -> Iterator[Path]:
    """A folder that every user of the host reaches."""
    with TemporaryDirectory(dir="/tmp") as made:
        Path(made).chmod(0o755)
        (Path(made) / "units").mkdir()
        yield Path(made)


@pytest.fixture
def had(host: Path) -> Configuration:
    """An appliance that served once, with a secret; the unit runs it as USER."""
    configuration = configure(host)
    configuration.path.chmod(0o644)
    give_osie(configuration.data)
    with serving(configuration):
        kept = run_here("--data", str(configuration.data), "secret", "set", "db-password", stdin=b"s3cret-and-long")
        assert kept.status == 0, kept.err
    (host / "units/tinkbox.service").write_text(
        f"[Service]\nUser={USER}\nStateDirectory=tinkbox\nExecStart=/usr/local/bin/tinkbox serve --config {configuration.path}\n"
    )
    return configuration


def give(folder: Path, uid: int) -> None:
    for each in (folder, *folder.rglob("*")):
        os.chown(each, uid, uid, follow_symlinks=False)


def on_host(configuration: Configuration, *words: str, state: Path | None = None, user: str = "root") -> Ended:
    host = configuration.path.parent
    become = () if user == "root" else ("setpriv", "--reuid", user, "--regid", user, "--clear-groups")
    ended = subprocess.run(
        [*BEFORE, "sh", "-c", ON_HOST, *become, PYTHON, "-m", "tinkbox", *words],
        env={**clean_environment(), "UNITS": str(host / "units"), "STATE": str(state or "")},
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def checked(configuration: Configuration, state: Path | None = None) -> Ended:
    return on_host(configuration, "serve", "--config", str(configuration.path), "--check", state=state)


def started(configuration: Configuration) -> Ended:
    return on_host(configuration, "serve", "--config", str(configuration.path), user=USER)


def wrong(ended: Ended) -> list[str]:
    return [line.removeprefix("wrong: ") for line in ended.out.splitlines() if line.startswith("wrong: ")]


def test_keys_that_are_credentials_of_the_unit_are_not_judged(had: Configuration) -> None:
    give(had.data, UID)
    (had.data / "tls/authority.key").unlink()
    (had.data / "secrets.key").unlink()
    looked = checked(had)
    assert (looked.status, len(wrong(looked))) == (1, 2), looked
    for line in wrong(looked):
        assert "See first whether it is a credential of systemd (`systemctl cat tinkbox`). " in line
        assert line.index("See first") < min(
            line.index(each) for each in ("`rm -r", "delete the secrets") if each in line
        )

    drop_in = had.path.parent / "units/tinkbox.service.d/keys.conf"
    drop_in.parent.mkdir()
    drop_in.write_text(DROP_IN)
    shutil.rmtree(had.data / "tls")
    looked = checked(had)
    assert (looked.status, wrong(looked)) == (0, []), looked
    named = "/etc/systemd/system/tinkbox.service.d/keys.conf"
    for key, name in (("the key of the box's authority", "tinkbox-authority-key"), ("the key of secrets", "tinkbox-secrets-key")):  # fmt: skip
        told = f"{key} is the credential {name} of tinkbox.service ({named}): only the service reads it, so it was not examined"
        assert told in looked.out


def test_credentials_of_a_unit_that_serves_another_folder_say_nothing(had: Configuration) -> None:
    drop_in = had.path.parent / "units/tinkbox.service.d/keys.conf"
    drop_in.parent.mkdir()
    drop_in.write_text(DROP_IN)
    (had.data / "tls/authority.key").unlink()
    other = had.path.with_name("other.yaml")
    other.write_text(had.path.read_text())
    unit = had.path.parent / "units/tinkbox.service"
    unit.write_text(unit.read_text() + "ExecStart=/usr/local/bin/tinkbox serve --data /srv/other\n")
    looked = checked(had)
    assert (looked.status, "authority.key is lost" in looked.out) == (1, True), looked


@pytest.mark.parametrize("what", ["folder", "all"])
def test_check_says_of_a_folder_that_is_roots_what_the_start_as_the_units_user_says(
    had: Configuration, what: str
) -> None:
    give(had.data, UID)
    if what == "folder":
        os.chown(had.data, 0, 0)
    else:
        give(had.data, 0)
    looked, failed = checked(had), started(had)
    assert (looked.status, failed.status) == (1, 1), (looked, failed)
    assert f"`chown -R {USER} {had.data}` gives it to {USER}, who runs this" in failed.err
    assert [f"tinkbox: {line}\n" for line in wrong(looked)] == [failed.err]
    give(had.data, UID)
    looked = checked(had)
    assert (looked.status, f"checked for the user {USER}, who owns {had.data}" in looked.out) == (0, True), looked


@pytest.mark.parametrize("what", ["folder", "all"])
def test_what_systemd_gives_to_the_units_user_is_not_wrong(had: Configuration, what: str) -> None:
    state = had.path.parent / "state"
    state.mkdir()
    had.data.rename(state / "tinkbox")
    give(state / "tinkbox", 0 if what == "all" else UID)
    os.chown(state / "tinkbox", 0, 0)
    had.path.write_text(had.path.read_text().replace(f"data: {had.data}", "data: /var/lib/tinkbox"))
    looked = checked(had, state)
    told = f"systemd gives /var/lib/tinkbox, with all in it, to the user {USER} when it starts tinkbox.service"
    assert (looked.status, wrong(looked), told in looked.out) == (0, [], True), looked
    had.path.chmod(0o600)
    looked = checked(had, state)
    unreadable = f"before a unit uses it: the user {USER} cannot read {had.path}: "
    assert (looked.status, unreadable in looked.out) == (0, True), looked


def test_authority_is_not_forgotten_by_a_member_of_the_group(had: Configuration) -> None:
    give(had.data, UID)
    had.data.chmod(0o711)
    forgotten = on_host(had, "--data", str(had.data), "authority", "--forget", user="games")
    assert forgotten.status == 1
    assert f"{had.data} belongs to the user {USER}: only root and {USER} may do this" in forgotten.err
    assert "chown" not in forgotten.err


def test_a_folder_of_the_system_is_not_to_be_given_away_for_a_file_of_the_audit(had: Configuration) -> None:
    give(had.data, UID)
    had.path.write_text(had.path.read_text() + "audit: {file: /var/log/tinkbox-audit.jsonl}\n")
    (told,) = wrong(checked(had))
    assert f"{USER} may not write there. Name a file in a folder of its own; `LogsDirectory=`" in told
    assert "install -d" not in told
