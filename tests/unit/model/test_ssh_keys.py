"""Public SSH keys."""

import base64

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.model.ssh_keys import MAX_KEYS, MAX_TEXT, public_keys


def key(kind: str = "ssh-ed25519", number: int = 1, said: str = "") -> str:
    """A key of the right form; `said` is what its data says that it is."""
    data = b"".join(len(each).to_bytes(4, "big") + each for each in ((said or kind).encode(), bytes([number]) * 32))
    return f"{kind} {base64.b64encode(data).decode()}"


def test_each_key_is_taken_once_with_its_comment_and_options() -> None:
    lines = [f"{key()} anna@laptop", "", "# ben", f'no-pty,command="a b" {key("ssh-rsa", 2)}', f"{key()} anna@laptop"]
    assert public_keys("\r\n".join(lines), "keys") == (lines[0], lines[3])


@pytest.mark.parametrize(
    "kind", ["ssh-dss", "ssh-ed25519-cert-v01@openssh.com", "sk-ssh-ed25519@openssh.com", "x-later@example.org"]
)
def test_a_key_is_taken_of_whatever_kind_its_data_say_that_it_is(kind: str) -> None:
    for line in (key(kind), f"{key(kind)} anna@laptop", f'cert-authority,command="a b"  {key(kind)} anna'):
        assert public_keys(line, "keys") == (line,)


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n",
        "-----BEGIN RSA PRIVATE KEY-----\n",
        "PuTTY-User-Key-File-3: ssh-ed25519\n",
    ],
)
def test_a_private_key_is_refused_loudly_and_not_shown(text: str) -> None:
    with pytest.raises(Invalid, match=r"id_ed25519 is a PRIVATE key.*\.pub") as refused:
        public_keys(text, "id_ed25519")
    assert "AAAA" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "hello", "ssh-ed25519", "ssh-ed25519 AAAA", "ssh-ed25519 !!!!", key(said="ssh-rsa"), key("ssh-dss", said="ssh-dsa"), key("a" * 65), "ssh-dss AAAA",
        f"{key()} a\x1b[2J", key()[:-3],
    ],
)  # fmt: skip
def test_what_is_no_public_key_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        public_keys(f"{key()}\n{text}\n", "keys")
    assert [each.line for each in refused.value.problems] == [2]


@pytest.mark.parametrize("text", ["", "\n\n", "# nobody\n"])
def test_a_file_without_a_key_says_how_to_make_one(text: str) -> None:
    with pytest.raises(Invalid, match="ssh-keygen"):
        public_keys(text, "keys")


def test_a_text_beyond_the_limits_is_refused() -> None:
    with pytest.raises(Invalid, match="longer than 64 KiB"):
        public_keys(f"{key()} {'x' * MAX_TEXT}", "keys")
    with pytest.raises(Invalid, match="at most 64"):
        public_keys("\n".join(key(number=each) for each in range(MAX_KEYS + 1)), "keys")


def test_the_form_of_rfc_4716_is_told_how_to_become_the_usual_one() -> None:
    with pytest.raises(Invalid, match="ssh-keygen -i"):
        public_keys("---- BEGIN SSH2 PUBLIC KEY ----\nAAAA\n", "keys")


@pytest.mark.parametrize("text", ["ssh-ed25519 AAAA… me@here", "ssh-ed25519 AAAA... me@here"])
def test_the_key_of_the_documentation_is_told_to_be_replaced(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        public_keys(text, "keys")
    assert f"put your own public key in place of '{text}'" in str(refused.value.problems[0])
