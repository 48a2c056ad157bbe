"""Who can log in by what a cloud-config says of its users."""

import pytest

from tinkbox.engine.documents.logins import doubts, user_of

HEAD = "#cloud-config\n"
KEYED = "{name: ann, ssh_authorized_keys: [ssh-ed25519 AAAA]}"


@pytest.mark.parametrize(
    ("user_data", "user"),
    [
        ("", "debian"),
        ("#!/bin/sh\nuseradd ann\n", "debian"),
        (HEAD, "debian"),
        (HEAD + "packages: [curl]\n", "debian"),
        (HEAD + f"users: [default, {KEYED}]\n", "debian"),
        (HEAD + f"users: [{{name: bob}}, {KEYED}]\n", "ann"),
        (HEAD + "users: []\n", ""),
        (HEAD + "user: {name: root}\n", "root"),
        (HEAD + "user: ann\n", "ann"),
        (HEAD + "users: default\n", "debian"),
        (HEAD + "users: ann, default\n", "debian"),
        (f"#Cloud-Config \r\nusers: [{KEYED}]\n", "ann"),
        (HEAD + "day: 2020-13-45\nodd: !tag x\n? [a]\n: b\n", "debian"),
        (HEAD + "user: 2020-11-23\n", "2020-11-23"),
        ("hello\n", "debian"),
    ],
)
def test_the_user_to_log_in_as_is_one_who_can(user_data: str, user: str) -> None:
    assert user_of(user_data, "debian") == user


@pytest.mark.parametrize(
    "users", ["[]", "[{name: bob, sudo: 'ALL=(ALL) NOPASSWD:ALL'}]", f"[{KEYED}]", "[{name: ann, passwd: $6$x}]"]
)
def test_a_key_for_a_default_user_that_is_not_made_is_told(users: str) -> None:
    (told,) = doubts(f"{HEAD}users: {users}\n", keys=True)
    assert told.startswith("`users` of the user-data leaves out `default`")


@pytest.mark.parametrize("text", ["write_files: []\n", "users: [default]\n", "users: [{name: bob}]\n", "user: ann\n"])
def test_no_way_in_at_all_is_told(text: str) -> None:
    (told,) = doubts(HEAD + text, keys=False)
    assert told.startswith("no user gets a key or a password")


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("packages: [curl]\n", True),
        ("users: [default, {name: bob}]\n", True),
        (f"users: [{KEYED}]\n", False),
        ("users: [default]\nssh_authorized_keys: [ssh-ed25519 AAAA]\n", False),
        ("password: secret\nchpasswd: {expire: false}\n", False),
        ("runcmd: [./make-users]\n", False),
        ("user: {name: ann, ssh_import_id: [gh:ann]}\n", False),
        ("keys: &keys {ssh_authorized_keys: [ssh-ed25519 AAAA]}\nusers: [{name: ann, <<: *keys}]\n", False),
    ],
)
def test_a_way_in_is_not_doubted(text: str, keys: bool) -> None:
    assert [*doubts(HEAD + text, keys=keys)] == []


@pytest.mark.parametrize("other", ["#!/bin/sh\n", "", "## template: jinja\n#cloud-config\nusers: []\n", "# hello\n"])
def test_of_what_is_no_cloud_config_nothing_is_said(other: str) -> None:
    assert [*doubts(other, keys=True)] == []


def test_text_that_cloud_init_ignores_lets_nobody_in() -> None:
    (told,) = doubts("hello\n", keys=False)
    assert told.startswith("no user gets a key or a password")
    assert not [*doubts("hello\n", keys=True)]
