"""Whether this host passes on what is for others (ip-sysctl, `forwarding`)."""

from pathlib import Path


def forwards(interface: str) -> bool | None:
    """Whether packets that come in by an interface go on to other networks; None where the kernel does not say."""
    try:
        return Path(f"/proc/sys/net/ipv4/conf/{interface}/forwarding").read_text().strip() == "1"
    except OSError:
        return None
