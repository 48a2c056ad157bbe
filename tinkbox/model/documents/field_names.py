"""What the fields of an interface are called in a machine's own document, for people who are to change it.  Pure."""

from tinkbox.model.documents.hardware_v1alpha2 import field_of
from tinkbox.model.hardware import Form, Interface


def spelled(interface: Interface | None, field: str) -> str:
    """A field of an interface by what v1alpha1 calls it, as the document has it; without the `dhcp.` that most have there."""
    if interface is not None and interface.form is Form.V1ALPHA2:
        return field_of(field)
    return field.removeprefix("dhcp.")


def forbids_pxe(interface: Interface) -> str:
    """How the document of an interface without `allow_pxe` forbids to boot from the network, behind `its hardware document`."""
    key, value = _allowing(interface)
    if interface.pxe_told:
        return f"says {key}: {'false' if value == 'true' else 'true'}"
    return f"does not permit network boot: it has no {key}"


def permitting_pxe(interface: Interface) -> str:
    """What to change in the document, so that the interface may."""
    key, value = _allowing(interface)
    return f"Set {key} to {value} in its hardware document"


def _allowing(interface: Interface) -> tuple[str, str]:
    """The field and its value with which an interface may boot from the network."""
    if interface.form is Form.V1ALPHA2:
        return field_of("netboot.allowPXE"), "false"
    return ("netboot.allowPXE" if interface.form is Form.V1ALPHA1 else "netboot.allow_pxe"), "true"
