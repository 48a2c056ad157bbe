"""What GRUB would start, read from menus as distributions write them."""

import pytest
from grub_menu import Entry, default_entry
from hypothesis import given
from hypothesis import strategies as st

UPDATE_GRUB = """\
set pager=1 # a comment
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   save_env next_entry
else
   set default="0"
fi
function gfxmode {
	set gfxpayload="${1}"
}
set linux_gfx_mode=auto
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-1' {
	load_video
	search --no-floppy --fs-uuid --set=root 1234
	echo	'Loading Linux 6.1 ...'
	linux	/boot/vmlinuz-6.1 root=UUID=1234 ro  quiet gfx=$linux_gfx_mode $vt_handoff
	initrd	/boot/early.cpio /boot/initrd.img-6.1
}
submenu 'Advanced options' $menuentry_id_option 'gnulinux-advanced-1' {
	menuentry 'Debian, with Linux 6.1 (recovery mode)' $menuentry_id_option 'recovery' {
		linux	/boot/vmlinuz-6.1 root=UUID=1234 ro single
		initrd	/boot/initrd.img-6.1
	}
}
menuentry 'UEFI Firmware Settings' $menuentry_id_option 'uefi-firmware' {
	fwsetup
}
menuentry "Other" {
	linuxefi ($root)/vmlinuz "words in one"
}
"""


def test_the_default_entry_is_what_grub_would_start() -> None:
    assert default_entry(UPDATE_GRUB) == Entry(
        titles=("Debian GNU/Linux", "gnulinux-simple-1"),
        kernel="/boot/vmlinuz-6.1",
        ramdisks=("/boot/early.cpio", "/boot/initrd.img-6.1"),
        command_line="root=UUID=1234 ro quiet gfx=auto",
    )


@pytest.mark.parametrize(
    ("default", "command_line"),
    [
        ("1", "root=UUID=1234 ro single"),
        ("recovery", "root=UUID=1234 ro single"),
        ("3", "words in one"),
        ("Other", "words in one"),
        ("2", "root=UUID=1234 ro quiet gfx=auto"),  # starts no kernel
        ("7", "root=UUID=1234 ro quiet gfx=auto"),
        ("gone", "root=UUID=1234 ro quiet gfx=auto"),
        ("${saved_entry}", "root=UUID=1234 ro quiet gfx=auto"),
    ],
)
def test_a_default_is_a_number_a_title_or_an_id(default: str, command_line: str) -> None:
    found = default_entry(UPDATE_GRUB.replace('"0"', f'"{default}"'))
    assert found is not None
    assert found.command_line == command_line


def test_the_device_before_a_path_is_left_out() -> None:
    found = default_entry(UPDATE_GRUB.replace('"0"', '"3"'))
    assert found is not None
    assert (found.kernel, found.ramdisks) == ("/vmlinuz", ())


@pytest.mark.parametrize(
    "text", ["", "menuentry", "menuentry x {\n}", "linux /vmlinuz", "blscfg", "set default", "}}\n}"]
)
def test_a_menu_without_a_kernel_has_no_default(text: str) -> None:
    assert default_entry(text) is None


@given(
    st.lists(
        st.sampled_from(
            ["menuentry", "submenu", "linux", "initrd", "set", "default=1", "'a", '"', "{", "}", "\n", "$x", "(", "/k"]
        )
    ).map(" ".join)
)
def test_any_text_is_read(text: str) -> None:
    found = default_entry(text)
    assert found is None or found.kernel
