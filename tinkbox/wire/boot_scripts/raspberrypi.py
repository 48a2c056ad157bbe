"""What the Raspberry Pi's boot ROM reads before a kernel: config.txt and cmdline.txt, built from tokens."""

from typing import Final

from tinkbox.wire.boot_scripts.script_text import argument

KERNEL: Final = "vmlinuz"
INITRAMFS: Final = "initramfs"


def config(operators: str = "") -> str:
    """config.txt: the operator's, if there is one, and what boots the OSIE after it, which wins."""
    own = ["[all]", "arm_64bit=1", "enable_uart=1", f"kernel={KERNEL}", f"initramfs {INITRAMFS} followkernel"]
    before = [*operators.splitlines(), ""] if operators else []
    return "".join(f"{line}\n" for line in [*before, *own])


def command_line(arguments: tuple[str, ...]) -> str:
    """cmdline.txt, which is one line."""
    return " ".join(map(argument, arguments)) + "\n"
