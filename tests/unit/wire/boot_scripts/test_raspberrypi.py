"""What the Raspberry Pi reads before a kernel."""

from tinkbox.wire.boot_scripts.raspberrypi import command_line, config

OWN = "[all]\narm_64bit=1\nenable_uart=1\nkernel=vmlinuz\ninitramfs initramfs followkernel\n"


def test_config_boots_the_osie() -> None:
    assert config() == OWN


def test_what_the_operator_says_stands_before_what_boots_the_osie() -> None:
    assert config("dtparam=audio=on\nkernel=other.img") == f"dtparam=audio=on\nkernel=other.img\n\n{OWN}"


def test_the_command_line_is_one_line_of_plain_words() -> None:
    assert command_line(("a=b", "x\ny z", "c=${d}'")) == "a=b x_y_z c=__d__\n"
