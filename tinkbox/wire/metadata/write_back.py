"""What an installed system tells: cloud-init's phone-home, and the events of its reporting webhook."""

import base64
import binascii
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

from tinkbox.model.command_lines import not_ours
from tinkbox.model.errors import Invalid
from tinkbox.model.metadata import MAX_FAILURE, MAX_KEY, MAX_MODULE, HostKey
from tinkbox.model.text import one_line, quoted

MAX_BODY: Final = 64 * 1024
MAX_FIELDS: Final = 64
MAX_NAME: Final = 253
FINAL: Final = "modules-final"  # the last stage of cloud-init
BAD: Final = frozenset({"FAIL", "WARN"})
# A stage, or a stage and its module, as cloud-init spells them.
_WORD: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
_RESULTS: Final = BAD | {"SUCCESS"}
_KEY_FIELD: Final = re.compile(r"pub_key_([a-z0-9]{1,16})\Z")
# The best of them first.
_ORDER: Final = ("ed25519", "ecdsa", "rsa", "dsa")


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneHome:
    """A system is up; `host_keys` are those of its ssh server, the best first.

    `keys_lost` tells that it has files for them and none in them, as after a power cut in the moment that they were made.
    """

    instance_id: str = ""
    hostname: str = ""
    host_keys: tuple[HostKey, ...] = ()
    keys_lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A stage of cloud-init, `modules-final`, or one of its modules, `modules-final/config-ntp`, began or has ended with a result.

    A stage or a module that is no word as cloud-init has them stands in quotes.
    """

    name: str
    ended: bool
    result: str = ""
    description: str = ""

    @property
    def is_stage(self) -> bool:
        """Whether it is about a stage, not about a module of one."""
        return "/" not in self.name

    @property
    def is_end(self) -> bool:
        """Whether cloud-init is through with everything."""
        return self.ended and self.name == FINAL


def decode_phone_home(body: bytes, content_type: str = "") -> PhoneHome:
    """The form that cloud-init posts, or the same as a JSON object, which its first letter or its media type tells.

    An empty body is a phone-home that tells nothing, but no JSON.  Raises Invalid.
    """
    fields = _fields(body, content_type)
    found = [
        key for name, text in fields.items() if (kind := _KEY_FIELD.match(name)) and (key := _host_key(kind[1], text))
    ]
    found.sort(key=lambda each: _ORDER.index(each.kind) if each.kind in _ORDER else len(_ORDER))
    return PhoneHome(
        instance_id=one_line(fields.get("instance_id", ""), MAX_NAME),
        hostname=not_ours(one_line(fields.get("fqdn", "") or fields.get("hostname", ""), MAX_NAME)),
        host_keys=tuple(found),
        # Of a key that has no file at all cloud-init says N/A.
        keys_lost=not found and any(_KEY_FIELD.match(name) and not text.strip() for name, text in fields.items()),
    )


def decode_report(body: bytes) -> Report:
    """One event of the webhook; raises Invalid."""
    try:
        entry = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"report: not valid JSON: {error}") from None
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
        raise Invalid("report: expected an object with the name of a stage or module")
    return Report(
        name=_name(one_line(entry["name"], MAX_MODULE)),
        ended=entry.get("event_type") == "finish",
        result=result if (result := _text(entry.get("result")).upper()) in _RESULTS else "",
        description=not_ours(one_line(_text(entry.get("description")), MAX_FAILURE)),
    )


def _name(text: str) -> str:
    """A stage, or a stage and its module; what any host may have put in their place is quoted, each by itself."""
    return "/".join(each if _WORD.fullmatch(each) else quoted(each) for each in text.split("/", 1))


def _fields(body: bytes, content_type: str) -> dict[str, str]:
    text = body.decode(errors="replace")
    if content_type == "application/json" or text.lstrip().startswith(("{", "[")):
        try:
            entry = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Invalid(f"phone-home: not valid JSON: {error}") from None
        if not isinstance(entry, dict):
            raise Invalid("phone-home: expected an object with the names and keys of the system")
        return {str(name): value for name, value in list(entry.items())[:MAX_FIELDS] if isinstance(value, str)}
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        raise Invalid(f"phone-home: more than {MAX_FIELDS} fields") from None


def _host_key(kind: str, text: str) -> HostKey | None:
    """The fingerprint of a public key as ssh writes it (RFC 4253 §6.6); None for what is none."""
    words = text.split()
    if len(words) < 2 or len(text) > MAX_KEY:
        return None
    try:
        blob = base64.b64decode(words[1], validate=True)
    except (binascii.Error, ValueError):
        return None
    # Its own type stands in front of it.
    length = int.from_bytes(blob[:4], "big")
    if blob[4 : 4 + length] != words[0].encode():
        return None
    digest = base64.b64encode(hashlib.sha256(blob).digest()).rstrip(b"=").decode()
    return HostKey(kind=kind, fingerprint=f"SHA256:{digest}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
