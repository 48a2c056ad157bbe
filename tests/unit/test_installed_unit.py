"""What the unit of systemd says, by its files below a root of the test."""

import os
from pathlib import Path
from pwd import getpwuid

from tinkbox.installed_unit import installed_unit, to_open

ME = getpwuid(os.getuid()).pw_name
DROP_INS = "etc/systemd/system/tinkbox.service.d"


def lay(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_host_without_the_unit_has_none(tmp_path: Path) -> None:
    assert installed_unit(tmp_path) is None


def test_the_unit_tells_user_folder_and_command(tmp_path: Path) -> None:
    lay(
        tmp_path,
        "etc/systemd/system/tinkbox.service",
        f"[Unit]\nUser=nobody\n[Service]\n# User=bin\nUser={ME}\nStateDirectory=tinkbox\n"
        "ExecStart=-/usr/local/bin/tinkbox serve \\\n  --config /srv/box.yaml --data=/srv/box\n",
    )
    unit = installed_unit(tmp_path)
    assert unit is not None
    assert unit.user is not None
    assert (unit.user.pw_name, unit.state, unit.credentials) == (ME, Path("/var/lib/tinkbox"), {})
    assert (unit.option("--config"), unit.option("--data")) == (Path("/srv/box.yaml"), Path("/srv/box"))
    assert unit.option("--other") is None


def test_drop_ins_count_in_their_order_and_an_empty_value_takes_back(tmp_path: Path) -> None:
    lay(tmp_path, "usr/lib/systemd/system/tinkbox.service", "[Service]\nUser=bin\nLoadCredential=gone\n")
    lay(tmp_path, f"{DROP_INS}/20-later.conf", "[Service]\nLoadCredential=\nUser=no-such-user\n")
    lay(tmp_path, "usr/lib/systemd/system/tinkbox.service.d/30-hidden.conf", "[Service]\nLoadCredential=hidden\n")
    lay(tmp_path, f"{DROP_INS}/30-hidden.conf", "")
    named = lay(tmp_path, f"{DROP_INS}/40.conf", "[Service]\nLoadCredentialEncrypted=tinkbox-secrets-key:/a/b\n")
    unit = installed_unit(tmp_path)
    assert unit is not None
    assert (unit.user, unit.credentials) == (None, {"tinkbox-secrets-key": named})


def test_drop_ins_count_before_the_unit_is_there(tmp_path: Path) -> None:
    named = lay(tmp_path, f"{DROP_INS}/keys.conf", "[Service]\nSetCredentialEncrypted=tinkbox-authority-key: abc\n")
    unit = installed_unit(tmp_path)
    assert unit is not None
    assert unit.credentials == {"tinkbox-authority-key": named}


def test_a_credential_that_is_imported_by_a_pattern_has_to_be_there(tmp_path: Path) -> None:
    named = lay(tmp_path, f"{DROP_INS}/keys.conf", "[Service]\nImportCredential=tinkbox-*\n")
    lay(tmp_path, "etc/credstore.encrypted/tinkbox-secrets-key", "sealed")
    lay(tmp_path, "etc/credstore/other", "")
    unit = installed_unit(tmp_path)
    assert unit is not None
    assert unit.credentials == {"tinkbox-secrets-key": named}


def test_files_of_credentials_are_told_by_their_whole_path(tmp_path: Path) -> None:
    lay(tmp_path, f"{DROP_INS}/keys.conf", "[Service]\nLoadCredential=a:/etc/a\nLoadCredentialEncrypted=b\nUser=0\n")
    unit = installed_unit(tmp_path)
    assert unit is not None
    assert (unit.sealed, unit.user_name) == ({"a": Path("/etc/a")}, "0")
    assert unit.user is not None
    assert unit.user.pw_name == "root"


def test_credential_without_a_path_is_absent_where_no_store_has_it(tmp_path: Path) -> None:
    named = lay(
        tmp_path,
        f"{DROP_INS}/keys.conf",
        "[Service]\nLoadCredentialEncrypted=a\nLoadCredential=b\nLoadCredential=c:other\nLoadCredential=d\nLoadCredential=e:/etc/e\n"
        "LoadCredential=f\nSetCredential=f:x\n",
    )
    unit = installed_unit(tmp_path)
    assert unit is not None
    assert unit.absent == dict.fromkeys("abcd", named)
    for each in ("etc/credstore.encrypted/a", "usr/lib/credstore/b", "run/credstore/other", "run/credentials/@system/d"):  # fmt: skip
        lay(tmp_path, each, "")
    unit = installed_unit(tmp_path)
    assert unit is not None
    assert unit.absent == {}


def test_docs_have_the_commands_that_let_the_unit_write_to_a_folder() -> None:
    docs = (Path(__file__).parents[2] / "docs/operating.md").read_text()
    assert "\n".join(to_open([Path("/srv/tinkbox")])) in docs
