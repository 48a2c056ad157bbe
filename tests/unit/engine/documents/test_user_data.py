"""User-data is looked at before a machine gets it."""

import base64
import gzip

import pytest

from tinkbox.engine.documents.user_data import ignored_whole, odd, remarks_on, unfit
from tinkbox.model.errors import Remarks
from tinkbox.model.metadata import MAX_USER_DATA


def in_base64(content: bytes) -> str:
    return base64.encodebytes(content).decode()


CLOUD_CONFIG = gzip.compress(b"#cloud-config\nruncmd: [reboot]\n", mtime=0)
PACKED = in_base64(CLOUD_CONFIG)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "#cloud-config\n",
        "#cloud-config\npackages: [curl]\nno_such_key: 1\n",
        "\n#Cloud-Config\nusers: [default, {name: ann, ssh_authorized_keys: [a]}]\n",
        "#cloud-config\nusers:\n",
        "#cloud-config\nwrite_files: [{path: /a, permissions: '0644', content: \"a\\tb\"}]\n",
        "#cloud-config\nwrite_files:\n- path: /Makefile\n  content: |\n    all:\n    \techo\n",
        "#!/bin/sh\necho hi\n",
        "Content-Type: multipart/mixed; boundary=x\n\n--x--\n",
        "## template: jinja\n#cloud-config\n{% if x %}\n",
        "#cloud-config-archive\n- content: x\n",
        "#include\nhttp://x\n",
        '{"ignition": {"version": "3.3.0"}}',
        "version: v1alpha1\nmachine:\n  type: worker\n",
        "lang en_US\nkeyboard us\n",
        f"\n{PACKED}",
        "anything else",
        "# of our own tool\nhostname: node7\nnetwork: lab\n",
        "variant: fcos\nversion: 1.5.0\npasswd: {}\n",
        "#cloud-config\nfile: &f {path: /a}\nwrite_files: [{<<: *f, content: b}, {<<: [*f, *f]}]\n",
        "#cloud-config\nuser: &u {name: ann}\nusers: [{<<: *u}]\n",
    ],
)
def test_what_systems_read_is_fit(text: str) -> None:
    assert unfit(text) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<!DOCTYPE html>\n<html>", "line 1: this is a web page"),
        ("\ufeff#cloud-config\npackages: [curl]\n", "line 1: a byte order mark"),
        ("packages: [curl]\n", "line 1: the first line must be #cloud-config: cloud-init ignores this text as it is"),
        ("# mine\n#cloud-config\nruncmd: []\n", "line 2: #cloud-config must be the first line"),
        ("# cloud-config\nruncmd: []\n", "line 1: the first line must be #cloud-config, without a space"),
        ("#cloud-config\nruncmd:\n\t- reboot\n", "line 3: a tab: YAML is indented with spaces"),
        ("#cloud-config\na: [\n", "line 2: not valid YAML"),
        ("#cloud-config\na: [1, 2\n", "line 2: not valid YAML"),
        ("#cloud-config\n---\n---\na: 1\n", "line 4: a second document"),
        ("#cloud-config\n- a\n", "line 2: expected keys with values"),
        ("#cloud-config\na: 1\n---\nb: 2\n", "line 4: a second document"),
        ("#cloud-config\nruncmd: reboot\n", "line 2, runcmd: expected a list"),
        ("#cloud-config\napt: []\n", "line 2, apt: expected keys with values"),
        ("#cloud-config\nusers: {name: ann}\n", "line 2, users: expected a list"),
        ("#cloud-config\nusers:\n- default\n- shell: /bin/sh\n", "line 4, users[1]: a user needs its name"),
        ("#cloud-config\nusers:\n- name: a\n  ssh_authorized_keys: x\n", "line 4, users[0].ssh_authorized_keys: expected a list"),
        ("#cloud-config\nwrite_files:\n- content: x\n", "line 3, write_files[0]: a file needs its path"),
        ('{"ignition": }', "line 1: not valid JSON"),
    ],
)  # fmt: skip
def test_what_cloud_init_would_ignore_or_stumble_over_is_named(text: str, problem: str) -> None:
    (told,) = unfit(text)
    assert str(told).startswith(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (in_base64(CLOUD_CONFIG[:-9]), "its gzip is damaged: its end is missing; pack it again with `gzip -c FILE"),
        (in_base64(CLOUD_CONFIG[:12] + b"\xff" + CLOUD_CONFIG[13:]), "its gzip is damaged: Error -3"),
        (in_base64(CLOUD_CONFIG[:-8] + bytes(4) + CLOUD_CONFIG[-4:]), "its gzip is damaged: CRC check failed"),
        (in_base64(CLOUD_CONFIG + b"x"), "its gzip is damaged: Not a gzipped file"),
        ("H4sI not base64", "it begins like gzip in base64, but it is not valid base64: pack it again"),
    ],
)
def test_damaged_gzip_is_unfit(text: str, problem: str) -> None:
    (told,) = unfit(text)
    assert str(told).startswith(problem)


@pytest.mark.parametrize("mode", ["0644", "644"])
def test_a_file_mode_that_yaml_reads_as_a_number_is_told(mode: str) -> None:
    (note,) = odd(f"#cloud-config\nwrite_files:\n- {{path: /a, permissions: {mode}}}\n")
    assert str(note).startswith(f"line 3, write_files[0].permissions: quote the mode ('{mode}')")
    assert odd(f"#cloud-config\nwrite_files:\n- {{path: /a, permissions: '{mode}'}}\n") == []


def test_gzip_is_unpacked_up_to_a_limit() -> None:
    bomb = gzip.compress(bytes(16 << 20), mtime=0)
    assert unfit(in_base64(bomb[:-8])) == []


@pytest.mark.parametrize(
    "text", ["#cloud-config\n" + "[" * 50_000, "{" * 50_000, "#cloud-config\na: &a [*a, *a]\n", "#cloud-config\n\x00\n"]
)
def test_hostile_texts_are_read_in_time(text: str) -> None:
    assert isinstance(unfit(text), list)


def test_what_is_too_large_is_not_looked_at() -> None:
    (told,) = unfit("x" * (MAX_USER_DATA + 1))
    assert "at most 256 KiB" in told.text


def test_what_cloud_init_would_make_nothing_of_is_told_and_not_refused() -> None:
    (told,) = remarks_on("hello\n").ignored
    assert str(told) == "line 1: cloud-init ignores all of it, for it knows nothing that begins with 'hello'"
    (told,) = remarks_on("#cloud-config\nno_such_key: 1\n").notes
    assert told.key == "no_such_key"
    (told,) = remarks_on("#cloud-config\npackges: [curl]\n").ignored
    assert told.text == "cloud-init has no such key; did you mean packages?"
    for text in (
        "",
        "#!/bin/sh\n",
        '{"ignition": {}}',
        "#cloud-config\nruncmd: []\n",
        "#cloud-config\nvendor_data: {enabled: false}\nvendor_data2: {enabled: false}\n",
        "version: v1alpha1\n",
        PACKED,
    ):
        assert remarks_on(text) == Remarks()


@pytest.mark.parametrize(
    "text", ["", " \n\n", "hello\n", "#cloud-confg\na: 1\n", "a: [1, 2\n", '{"ignition": {}}', "version: v1alpha1\n"]
)
def test_text_of_which_cloud_init_reads_nothing_is_known(text: str) -> None:
    assert ignored_whole(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "#cloud-config",
        "\n#!/bin/sh\n",
        "#ps1\n",
        "<powershell>x</powershell>",
        PACKED,
        "From: ann\nMIME-Version: 1.0\n\nx\n",
        "## template: jinja\n",
    ],
)
def test_text_of_which_cloud_init_reads_some_is_known(text: str) -> None:
    assert ignored_whole(text) is None


def test_the_line_that_cloud_init_does_not_know_is_counted_from_the_beginning() -> None:
    (told,) = remarks_on("\n\nhello\n").ignored
    assert told.line == 3


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("- '#cloud-config'\n- {type: text/x-shellscript, content: x}\n", []),
        ("", []),
        (
            "type: text/cloud-config\n",
            ["line 2: expected a list of parts, such as `- content: |`: cloud-init ignores this"],
        ),
        ("- [a\n", ["line 2"]),
    ],
)
def test_an_archive_that_is_no_list_is_told(content: str, told: list[str]) -> None:
    found = [str(each) for each in unfit(f"#cloud-config-archive\n{content}")]
    assert [each[: len(one)] for each, one in zip(found, told, strict=True)] == told
