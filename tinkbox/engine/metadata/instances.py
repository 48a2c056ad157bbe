"""What an installed system is told, put together from all who say something about it.  Pure.

The workflow's `metadata:` beats the hardware document, and both beat the appliance's configuration; ssh keys of all three
count together.
"""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from tinkbox.engine.documents.user_data import ignored_whole, is_too_large, remarks_on, unfit
from tinkbox.model.documents.hardware_v1alpha2 import has_placeholders, is_v1alpha2
from tinkbox.model.documents.instance_metadata import misspelt_keys
from tinkbox.model.documents.loose_values import mapping_of, text_of
from tinkbox.model.documents.machine_views import object_view
from tinkbox.model.errors import Invalid, Problem, Remarks
from tinkbox.model.hardware import Hardware
from tinkbox.model.metadata import MAX_KEY, MAX_KEYS, MAX_USER_DATA, Defaults, Instance, Metadata
from tinkbox.model.text import counted

MAX_BONDING_MODE: Final = 6
MOST_MISSPELT: Final = 50  # keys of one document
_LINES: Final = ("hostname", "id")
# Where a document of v1alpha2 has what `object_view` has in these places.
_IN_V1ALPHA2: Final[Mapping[str, str]] = {
    "spec.userData": "spec.instance.userdata",
    "spec.vendorData": "spec.instance.vendordata",
    "spec.metadata.instance.id": "spec.instance.lookupID",
}
# Unicode's categories: control characters, lone surrogates, and what separates lines and paragraphs.
_NO_LINE: Final = ("Cc", "Cs", "Zl", "Zp")


def instance_of(
    hardware: Hardware,
    spec: Metadata,
    defaults: Defaults,
    *,
    workflow_id: str = "",
    url: str = "",
    by_address: bool = False,
) -> Instance:
    """The system on a machine; `workflow_id` is the newest that has begun there, `url` where its own tree is.

    Who asks by address alone gets the id that the document gives it, as Tootles does.
    """
    spec_of_hardware = mapping_of(object_view(hardware.document).get("spec"))
    metadata = _metadata(hardware.document)
    details = mapping_of(metadata.get("instance"))
    own_id = f"{hardware.id}-{workflow_id}" if workflow_id else hardware.id
    return Instance(
        hardware=hardware,
        id=(text_of(details.get("id")) if by_address else "") or own_id,
        hostname=spec.hostname or text_of(details.get("hostname")) or _own_hostname(hardware),
        workflow_id=workflow_id,
        ssh_keys=tuple(dict.fromkeys([*spec.ssh_keys, *ssh_keys_of(hardware.document), *defaults.ssh_keys]))[:MAX_KEYS],
        user_data=spec.user_data or user_data_of(hardware.document),
        vendor_data=spec.vendor_data or _bounded(text_of(spec_of_hardware.get("vendorData"))),
        network=spec.network,
        bonding_mode=_mode(metadata.get("bonding_mode")),
        details=details,
        facility=mapping_of(metadata.get("facility")),
        defaults=defaults,
        url=url,
    )


def lets_in(document: Mapping[str, Any]) -> bool:
    """Whether a hardware document has ssh keys, or user-data that cloud-init reads, for the system on its machine."""
    return any(ssh_keys_of(document)) or ignored_whole(user_data_of(document)) is None


def user_data_of(document: Mapping[str, Any]) -> str:
    """What a hardware document has as user-data; empty where that is more than is served."""
    return _bounded(_user_data(document)[1])


def ssh_keys_of(document: Mapping[str, Any]) -> Iterator[str]:
    """Those of the instance, as texts, or as objects with a `key`."""
    value = mapping_of(_metadata(document).get("instance")).get("ssh_keys")
    for each in value if isinstance(value, Sequence) and not isinstance(value, str) else ():
        text = text_of(each.get("key") if isinstance(each, Mapping) else each).strip()
        if text and len(text) <= MAX_KEY and text.isprintable():
            yield text


def check_texts(hardware: Hardware) -> Remarks:
    """Look at what a hardware document has for the system on its machine, when it is given; raises Invalid for what cannot be served.

    What cloud-init could not use or ignores is ignored of it, and a key that is a misspelling of one that means something.  The keys are those of the document, the lines of a text stand in the words.
    """
    document = hardware.document
    unusable = [Problem(key=_place(document, key), text=text) for key, text in _unusable(hardware)]
    if unusable:
        raise Invalid(f"metadata that cannot be served: {counted(len(unusable), 'problem')}", unusable)
    spec = mapping_of(object_view(document).get("spec"))
    too_large: list[Problem] = []
    useless = list(islice(misspelt_keys(_metadata(document), _holder(document)), MOST_MISSPELT))
    odd: list[Problem] = []
    for key, text in (_user_data(document), ("spec.vendorData", text_of(spec.get("vendorData")))):
        if is_v1alpha2(document) and has_placeholders(text) and text == _bounded(text):
            continue  # it need not be YAML before Tinkerbell fills it
        place = _place(document, key)
        if wrong := unfit(text):
            (too_large if is_too_large(text) else useless).extend(_in_text(wrong, place))
        else:
            told = remarks_on(text)
            useless += _in_text(told.ignored, place)
            odd += _in_text(told.notes, place)
    if too_large:
        raise Invalid(f"user-data that cannot be served: {counted(len(too_large), 'problem')}", too_large)
    return Remarks(ignored=tuple(useless), notes=tuple(odd))


def _in_text(found: Iterable[Problem], place: str) -> Iterator[Problem]:
    """The same problems with the key of a document that has the text; their lines stand in the words."""
    for each in found:
        inside = [f"line {each.line} in it"] if each.line else []
        told = ", ".join([*inside, *filter(None, [each.key])])
        yield Problem(key=place, text=f"{told}: {each.text}" if told else each.text)


def _place(document: Mapping[str, Any], key: str) -> str:
    """Where a document has what `object_view` has under a key."""
    return _IN_V1ALPHA2.get(key, key) if is_v1alpha2(document) else key


def _unusable(hardware: Hardware) -> Iterator[tuple[str, str]]:
    """(key, what is wrong): names and ids are served as one line each, and Linux has seven modes of a bond."""
    metadata, holder = _metadata(hardware.document), _holder(hardware.document)
    details = mapping_of(metadata.get("instance"))
    lines = {"metadata.name": hardware.name} | {f"{holder}.instance.{each}": details.get(each) for each in _LINES}
    for key, value in lines.items():
        if any(unicodedata.category(each) in _NO_LINE for each in text_of(value)):
            yield key, "it has a line break or another control character: write it on one line"
    mode = metadata.get("bonding_mode")
    if isinstance(mode, int) and not isinstance(mode, bool) and not 0 <= mode <= MAX_BONDING_MODE:
        yield f"{holder}.bonding_mode", f"expected a mode between 0 and {MAX_BONDING_MODE}, not {mode}"


def _holder(document: Mapping[str, Any]) -> str:
    """The key of what the instance is told, `_metadata`."""
    return "spec.metadata" if document.get("kind") == "Hardware" else "metadata"


def _metadata(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document's `metadata`, which clients of 2020 also wrote as text of JSON."""
    held = document if document.get("kind") != "Hardware" else mapping_of(object_view(document).get("spec"))
    found = held.get("metadata")
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            found = None
    return mapping_of(found)


def _user_data(document: Mapping[str, Any]) -> tuple[str, str]:
    """Where it stands, and what it is: today's place first, then the two of 2020."""
    metadata, holder = _metadata(document), _holder(document)
    spec = mapping_of(document.get("kind") == "Hardware" and object_view(document).get("spec"))
    places = {
        "spec.userData": spec.get("userData"),
        f"{holder}.instance.userdata": mapping_of(metadata.get("instance")).get("userdata"),
        f"{holder}.userdata": metadata.get("userdata"),
    }
    return next(((key, text) for key, value in places.items() if (text := text_of(value))), ("", ""))


def _own_hostname(hardware: Hardware) -> str:
    """That of an interface, else the document's name; an id is none."""
    return next(iter(hardware.hostnames), "") or hardware.name


def _mode(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _bounded(text: str) -> str:
    return text if len(text.encode(errors="replace")) <= MAX_USER_DATA else ""
