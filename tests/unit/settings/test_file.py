"""The configuration file, and which appliance the commands speak to."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.unit.settings.configured import written
from tinkbox.model.errors import Invalid, NotFound, Problem
from tinkbox.settings import ClientTarget, client_target, file, load
from tinkbox.settings.environment import default_data
from tinkbox.settings.values import values_of


def test_the_command_line_overrides_the_data_folder_of_the_file(tmp_path: Path) -> None:
    assert load(written(tmp_path, "data: /srv/tinkbox"), data=tmp_path / "d").data == tmp_path / "d"


def test_a_relative_data_folder_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load(written(tmp_path, "data: kept")).data == tmp_path / "kept"
    assert load(written(tmp_path, ""), data=Path("kept")).data == tmp_path / "kept"


@pytest.mark.parametrize("text", ["a: [", "\tx: 1", "- a", "just text"])
def test_a_file_that_is_no_mapping_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(Invalid, match=r"tinkbox\.yaml"):
        load(written(tmp_path, text))


def test_invalid_yaml_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(Invalid) as refusal:
        load(written(tmp_path, "interface: lab\n  dhcp: {mode: pool\n"))
    assert (
        str(refusal.value) == f"{tmp_path}/tinkbox.yaml is not valid YAML: line 2: mapping values are not allowed here"
    )


def test_a_key_that_is_written_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    with pytest.raises(Invalid) as refusal:
        load(written(tmp_path, "tpm: first\nlimits: {head: 20s, head: 30s}\ntpm: off\n"))
    told = {(each.key, each.line, each.text) for each in refusal.value.problems}
    assert told == {
        ("limits.head", 2, "it is in line 2 as well: leave one of them"),
        ("tpm", 3, "it is in line 1 as well: leave one of them"),
    }


@pytest.mark.parametrize("text", ["a: &b [*b]", "a: &b {c: [*b]}", "a: &b {<<: *b}", "a: &b [c: [*b]]"])
def test_an_alias_within_what_it_names_is_refused_with_the_line_of_that(tmp_path: Path, text: str) -> None:
    with pytest.raises(Invalid) as refusal:
        load(written(tmp_path, f"name: box\n{text}\n"))
    assert str(refusal.value) == (
        f"{tmp_path}/tinkbox.yaml is not valid YAML: line 2: an alias stands within what it names: write the value out"
    )


def test_an_alias_of_what_is_complete_is_taken(tmp_path: Path) -> None:
    settings = load(
        written(tmp_path, "node: {http_port: &one 81, dns_port: 53}\nlimits: {services: {each: *one, all: *one}}")
    )
    assert settings.node.http_port == 81


def test_every_problem_with_a_key_says_its_line(tmp_path: Path) -> None:
    text = (
        "interfase: eth1\nnode:\n  http_port: 0\n  http-port: 81\ndhcp:\n  mode: pool\n  pool: 10.0.0.1-10.0.0.9\n  subnets:\n"
        "    - network: 10.1.0.0/16\n    - pool: 10.2.0.1-10.2.0.9\n      lease: soon\ndiscovery: {<<: {quota: 0},\n  port_quota: x}\n"
        "unknown_machines: some\noperator: 7\n"
    )
    with pytest.raises(Invalid) as refusal:
        load(written(tmp_path, text))
    assert {each.key: each.line for each in refusal.value.problems} == {
        "interfase": 1,
        "node.http_port": 3,
        "node.http-port": 4,
        "dhcp.subnets[1].lease": 11,
        "dhcp.subnets[1].network": 10,  # which is missing: where it would stand
        "discovery.quota": 12,
        "discovery.port_quota": 13,
        "unknown_machines": 14,
        "operator": 15,
    }


def test_a_key_beside_a_merged_one_has_the_line_that_counts(tmp_path: Path) -> None:
    for text in ("node:\n  http_port: x\n  <<: {http_port: 80}\n", "node:\n  <<: {http_port: 80}\n  http_port: x\n"):
        with pytest.raises(Invalid) as refusal:
            load(written(tmp_path, text))
        (problem,) = refusal.value.problems
        assert problem.line == text[: text.index("http_port: x")].count("\n") + 1


def test_values_too_deep_within_each_other_are_refused(tmp_path: Path) -> None:
    for text in ("a: " + "[" * 5000, "a: " + "[" * 100 + "]" * 100):
        with pytest.raises(Invalid, match=r"tinkbox\.yaml is not valid YAML: line 1: .*values within each other"):
            load(written(tmp_path, text))


def test_keys_are_merged_and_those_beside_them_count_before_them() -> None:
    problems: list[Problem] = []
    text = (
        "limits: &a {head: 20s, body: 30s}\nnode: &b {http_port: 81, dns_port: 54}\n"
        "c: {<<: [*a, *b, {head: 1, tftp: 2}], dns_port: 55}\nd: {body: 1, <<: *a}\ne: {<<: {<<: *a, head: 3}}\n"
        "f: {'<<': 1}\n"
    )
    found = values_of(text.encode(), problems)
    assert problems == []
    assert found["c"] == {"head": "20s", "body": "30s", "http_port": 81, "dns_port": 55, "tftp": 2}
    assert (found["d"], found["e"]) == ({"body": 1, "head": "20s"}, {"head": 3, "body": "30s"})
    assert found["f"] == {"<<": 1}
    values_of(b"{<<: {a: 1}, b: 2, <<: {a: 3}}", problems)
    assert list(map(str, problems)) == ["line 1, <<: it is in line 1 as well: leave one of them"]


@pytest.mark.parametrize("text", ["\ufeffname: box\r\ntpm: off\r\n", "", "# nothing\n", "---\n"])
def test_what_editors_make_of_a_file_is_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "tinkbox.yaml").write_bytes(text.encode())
    assert load(tmp_path / "tinkbox.yaml").name in ("box", "provisioner")


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

MERGES = "a: &a {x: [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 10)}]}}\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"name: !!python/object/apply:os.system [id]", "line 1: the tag !!python/object/apply:os.system is not supp"),
        (b"\nname: !foo x", "line 2: the tag !foo is not supported: remove it"),
        (b'name: !!binary "xx*"', "line 1: the tag !!binary is not supported: remove it"),
        (b"name: !!set {a, b}", "line 1: the tag !!set is not supported: remove it"),
        (b"? [a]\n: b", "line 1: a key must be text: write it without brackets"),
        (b"<<: 5", "line 1: a merge key (<<) takes an alias of keys with values, or a list of such aliases"),
        (b"a: &a {}\n<<: [*a, 5]", "line 2: a merge key (<<) takes an alias of keys with values"),
        (b"a: &a {<<: [*a]}", "line 1: an alias stands within what it names: write the value out"),
        (b"<<: {name: !foo x}", "line 1: the tag !foo is not supported: remove it"),
        (b"name: <<", "line 1: '<<' is a key that merges others, and no value: put it in quotes"),
        (MERGES.encode(), "too many values within each other"),
        (b"&a [*a]", "line 1: an alias stands within what it names: write the value out"),
        (LAUGHS.encode(), "too many values within each other"),
        (b"tpm: x\nname: !!int abc", "line 2: 'abc' is not a value of !!int: put it in quotes"),
        (b"name: !!bool abc", "line 1: 'abc' is not a value of !!bool: put it in quotes"),
        (b"name: 0b_", "line 1: '0b_' is not a value of !!int: put it in quotes"),
        (b"\nname: a\0b", "line 2: the character U+0000 may not stand here"),
        (b"\n\nname: \xff", "line 3: byte 0xff is not of UTF-8: save the file as UTF-8"),
        ("name: box".encode("utf-16"), "line 1: it is UTF-16: save it as UTF-8"),
        (b'\nname: "\\UFFFFFFFF"', "line 2: "),
        (b'data: "/a\\0b"', "line 1: '/a\\x00b' has a character that no setting can have"),
        (b'data: "/a\\ud800"', "line 1: half of a character (\\ud800 to \\udfff alone) is no text"),
        (b"node: {http_port: 0x" + b"F" * 5000 + b"}", "is not a value of !!int: put it in quotes"),
        (b"tpm: x\n---\nname: y", "line 3: it has 2 documents: remove the line `---`"),
    ],
)
def test_values_that_are_not_plain_are_refused_with_their_line(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "tinkbox.yaml"
    path.write_bytes(content)
    with pytest.raises(Invalid) as refusal:
        load(path)
    assert str(refusal.value).startswith(f"{path} is not valid YAML: line ")
    assert told in str(refusal.value)


def test_what_looks_like_a_day_is_a_text(tmp_path: Path) -> None:
    assert load(written(tmp_path, "name: 2020-13-45")).name == "2020-13-45"


def test_a_file_named_on_the_command_line_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nowhere\.yaml"):
        load(tmp_path / "nowhere.yaml")


def test_commands_speak_to_the_named_appliance(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TINKBOX_SERVER", "http://other:7080/")
    monkeypatch.setenv("TINKBOX_TOKEN", "secret")
    assert client_target() == ClientTarget(url="http://other:7080", token="secret", variable="TINKBOX_SERVER")
    assert client_target(tmp_path) == ClientTarget(socket=tmp_path / "operator.sock")


def test_without_a_server_commands_speak_to_the_configured_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TINKBOX_SERVER", raising=False)
    monkeypatch.setattr(file, "CONFIG", written(tmp_path, "data: /srv/tinkbox"))
    assert client_target() == ClientTarget(socket=Path("/srv/tinkbox/operator.sock"))
    monkeypatch.setattr(file, "CONFIG", written(tmp_path, "data: 5"))
    with pytest.raises(Invalid, match="1 problem"):
        client_target()
    monkeypatch.setattr(file, "CONFIG", tmp_path / "nowhere.yaml")
    assert client_target() == ClientTarget(socket=default_data() / "operator.sock")
    monkeypatch.setattr(file, "CONFIG", written(tmp_path, "") / "no-folder.yaml")
    with pytest.raises(Invalid, match="cannot read the configuration file"):
        client_target()


def test_which_appliance_is_found_without_what_only_reading_the_file_takes() -> None:
    script = (
        "import sys, tinkbox.settings as settings; from pathlib import Path; settings.client_target(Path('/x'));"
        "print([each for each in sys.modules if each == 'yaml' or each == 'tinkbox.settings.all_settings'])"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_who_has_no_appliance_of_their_own_speaks_to_the_hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own, of_host = tmp_path / "own", tmp_path / "host"
    for name, place in (("HOST_DATA", of_host), ("CONFIG", tmp_path / "none.yaml")):
        monkeypatch.setattr(f"tinkbox.settings.file.{name}", place)
    monkeypatch.setattr("tinkbox.settings.file.default_data", lambda: own)
    monkeypatch.delenv("TINKBOX_SERVER", raising=False)
    assert client_target().socket == own / "operator.sock"
    for folder, expected in ((of_host, of_host), (own, own)):
        folder.mkdir()
        (folder / "operator.sock").touch()
        assert client_target().socket == expected / "operator.sock"
    (tmp_path / "none.yaml").write_text(f"data: {tmp_path}/configured\n")
    assert client_target().socket == tmp_path / "configured" / "operator.sock"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up its rights")
def test_who_may_not_see_the_hosts_appliance_hears_of_that_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with TemporaryDirectory() as everybodys:
        Path(everybodys).chmod(0o755)
        own, of_host = Path(everybodys, "own"), Path(everybodys, "host")
        for name, place in (("HOST_DATA", of_host), ("CONFIG", Path(everybodys, "none.yaml"))):
            monkeypatch.setattr(f"tinkbox.settings.file.{name}", place)
        monkeypatch.setattr("tinkbox.settings.file.default_data", lambda: own)
        monkeypatch.setattr("tinkbox.settings.boxes.boxes_file", lambda: Path(everybodys, "boxes.json"))
        monkeypatch.delenv("TINKBOX_SERVER", raising=False)
        of_host.mkdir(mode=0o700)
        assert _as_nobody(client_target).socket == of_host / "operator.sock"
        own.mkdir()
        assert _as_nobody(client_target).socket == own / "operator.sock"


def _as_nobody(look: Callable[[], ClientTarget]) -> ClientTarget:
    os.seteuid(65534)
    try:
        return look()
    finally:
        os.seteuid(0)
