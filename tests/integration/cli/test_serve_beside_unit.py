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
    lost = [line for line in looked.out.splitlines() if line.startswith("warning: tinkbox.service")]
    assert len(lost) == 2, looked
    assert lost[1].startswith(
        f"warning: tinkbox.service starts without its credential tinkbox-secrets-key ({named}): it is in no folder in which systemd looks"
    )


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
    assert f": `chown -R {USER} {had.data}` gives it to {USER}, as which tinkbox.service runs\n" in failed.err
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


def strict(configuration: Configuration, more: str = "") -> None:
    give(configuration.data, UID)
    unit = configuration.path.parent / "units/tinkbox.service"
    unit.write_text(f"{unit.read_text()}ProtectSystem=strict\n{more}")


def test_folders_that_the_unit_may_not_write_to_are_told_with_the_drop_in_to_make(had: Configuration) -> None:
    strict(had)
    host = had.path.parent
    had.data.joinpath("registry").rename(host / "my disk")
    (had.data / "registry").symlink_to(host / "my disk")
    os.chown(had.data / "registry", UID, UID, follow_symlinks=False)
    (host / "log").mkdir()
    os.chown(host / "log", UID, UID)
    had.path.write_text(had.path.read_text() + f"audit: {{file: {host}/log/audit.jsonl}}\n")
    looked = checked(had)
    assert len(wrong(looked)) == 1, looked
    (told,) = wrong(looked)
    assert told.startswith(
        f"tinkbox.service may not write to {had.data} and {host}/my disk and {host}/log (ProtectSystem=, ReadOnlyPaths=). `mkdir -p "
    )
    command, systemctl, _ = told.partition("`")[2].rpartition("`")[0].partition(" && systemctl")
    assert systemctl
    subprocess.run(
        [*BEFORE, "sh", "-c", ON_HOST, "sh", "-c", command], env={**clean_environment(), "UNITS": str(host / "units")}, check=True
    )  # fmt: skip
    looked = checked(had)
    assert (looked.status, wrong(looked)) == (0, []), looked


def test_folder_that_the_unit_does_not_see_is_told(had: Configuration) -> None:
    strict(had, "PrivateTmp=yes\n")
    (told,) = wrong(checked(had))
    assert (
        f"tinkbox.service does not see {had.data} (ProtectHome=, PrivateTmp=, InaccessiblePaths=, TemporaryFileSystem=): name a folder"
        in told
    )


def test_init_lets_the_unit_write_to_the_folders_that_the_settings_name(had: Configuration) -> None:
    strict(had)
    opening = (
        "from pathlib import Path; from tinkbox.setup.unit import open_folders; "
        f"print(open_folders(Path('{had.data}'), [Path('{had.data}'), Path('/srv/my disk')]))"
    )
    for printed in ("['/etc/systemd/system/tinkbox.service.d/folders.conf']", "[]"):
        done = subprocess.run(
            [*BEFORE, "sh", "-c", ON_HOST, PYTHON, "-c", opening],
            env={**clean_environment(), "UNITS": str(had.path.parent / "units")}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.stdout, done.stderr) == (f"{printed}\n", "")
    assert (had.path.parent / "units/tinkbox.service.d/folders.conf").read_text() == (
        "# Written by `tinkbox init`: the folders that tinkbox.yaml names, and that the unit may write to.\n"
        f'[Service]\nReadWritePaths=-{had.data}\nReadWritePaths=-"/srv/my disk"\n'
    )
    looked = checked(had)
    assert (looked.status, wrong(looked)) == (0, []), looked


@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("what", ["the data folder", "the images"])
def test_start_on_a_read_only_file_system_names_what_makes_it_so(
    had: Configuration, what: str, is_closed: bool
) -> None:
    disk = had.data
    if what == "the images":
        disk = had.path.parent / "disk"
        (had.data / "registry").rename(disk)
        (had.data / "registry").symlink_to(disk)
    give(had.data, UID)
    if is_closed:
        strict(had)
    script = 'mount -t tmpfs -o uid=1,gid=1,mode=700 none "$DISK" && mount -o remount,ro "$DISK" && ' + ON_HOST
    as_user = ("setpriv", "--reuid", USER, "--regid", USER, "--clear-groups")
    failed = subprocess.run(
        [*BEFORE, "sh", "-c", script, *as_user, PYTHON, "-m", "tinkbox", "serve", "--config", str(had.path)],
        env={**clean_environment(), "UNITS": str(had.path.parent / "units"), "STATE": "", "DISK": str(disk)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert failed.returncode == 1
    way = f"ReadWritePaths=-{disk} >> " if is_closed else f"`mount -o remount,rw {disk}` has it"
    for said in ("Read-only file system", way):
        assert said in failed.stderr
    assert "chown" not in failed.stderr


def test_root_is_not_told_to_take_the_folder_of_the_units_user(had: Configuration) -> None:
    give(had.data, UID)
    failed = on_host(had, "serve", "--config", str(had.path))
    assert failed.status == 1
    assert (
        f"{had.data} belongs to the user {USER}, as which tinkbox.service serves it: `systemctl start tinkbox` "
        in failed.err
    )
    assert "chown" not in failed.err


def test_a_unit_that_cannot_start_is_told(had: Configuration) -> None:
    give(had.data, UID)
    drop_in = had.path.parent / "units/tinkbox.service.d/keys.conf"
    drop_in.parent.mkdir()
    drop_in.write_text(f"[Service]\nLoadCredential=mine:{had.path}\nLoadCredential=other:{had.path}.lost\n")
    looked = checked(had)
    lost = [
        line for line in looked.out.splitlines() if line.startswith("warning: tinkbox.service does not start: the file")
    ]
    assert (looked.status, len(lost)) == (0, 1), looked
    assert f"the file {had.path}.lost of its credential other is not there" in lost[0]
    drop_in.write_text("[Service]\nUser=no-such-user\n")
    looked = checked(had)
    assert len(wrong(looked)) == 1, looked
    (told,) = wrong(looked)
    assert (looked.status, "it runs as the user no-such-user (User=), and this host has no such user" in told) == (
        1,
        True,
    )


def test_forgetting_an_authority_whose_key_is_a_credential_tells_that_it_comes_back(had: Configuration) -> None:
    give(had.data, UID)
    drop_in = had.path.parent / "units/tinkbox.service.d/keys.conf"
    drop_in.parent.mkdir()
    drop_in.write_text(DROP_IN)
    had.path.parent.joinpath("units/tinkbox.service").write_text(
        f"[Service]\nUser={USER}\nExecStart=/usr/local/bin/tinkbox serve --data {had.data}\n"
    )
    done = on_host(had, "--data", str(had.data), "authority", "--forget")
    assert done.status == 0, done.err
    assert (
        "tinkbox-authority-key of tinkbox.service (/etc/systemd/system/tinkbox.service.d/keys.conf), so the next start has the same"
        in done.err
    )
    assert f"`rm -rf {had.data}/tls && systemctl daemon-reload`" in done.err
    assert done.out.startswith("Forgotten: SHA256:")
    again = on_host(had, "--data", str(had.data), "authority", "--forget")
    assert (again.status, again.out, again.err) == (0, f"{had.data} knows no authority.\n", done.err)
    assert "next start" not in done.out


def test_folder_that_systemd_makes_for_the_audit_at_the_start_is_not_missed(had: Configuration) -> None:
    give(had.data, UID)
    unit = had.path.parent / "units/tinkbox.service"
    unit.write_text(f"{unit.read_text()}LogsDirectory=tinkbox-of-the-test\n")
    had.path.write_text(had.path.read_text() + "audit: {file: /var/log/tinkbox-of-the-test/audit.jsonl}\n")
    looked = checked(had)
    assert (looked.status, wrong(looked)) == (0, []), looked
    had.path.write_text(had.path.read_text().replace("audit.jsonl", "deeper/audit.jsonl"))
    (told,) = wrong(checked(had))
    assert "there is no folder /var/log/tinkbox-of-the-test/deeper." in told


def test_file_of_the_audit_is_judged_as_the_units_user_also_where_systemd_gives_the_data_folder(
    had: Configuration,
) -> None:
    state = had.path.parent / "state"
    state.mkdir()
    had.data.rename(state / "tinkbox")
    give(state / "tinkbox", 0)
    had.path.write_text(had.path.read_text().replace(f"data: {had.data}", "data: /var/lib/tinkbox"))
    had.path.write_text(had.path.read_text() + f"audit: {{file: {had.path.parent}/audit.jsonl}}\n")
    (told,) = wrong(checked(had, state))
    assert f"{USER} may not write there" in told
