"""User-data and vendor-data, looked at before a machine gets them: what cloud-init would ignore, or stumble over.

What is no cloud-config (a script, Ignition, MIME, what is in an archive) is for others to judge.
"""

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Final

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tinkbox.engine.documents.yaml_loading import loading
from tinkbox.model.errors import Invalid, Problem, Remarks
from tinkbox.model.metadata import MAX_USER_DATA
from tinkbox.model.spelling import is_misspelt, meant, nearest
from tinkbox.model.text import quoted
from tinkbox.wire.metadata.tree import GZIP_IN_BASE64, gzip_of
from tinkbox.yaml_nodes import compose, is_null, line_of

_HEAD: Final = "#cloud-config"
_ARCHIVE: Final = "#cloud-config-archive"
# A few kilobytes of gzip can unpack to gigabytes, so damage behind this is not looked for.
_UNPACKED: Final = 4 << 20
_PIECE: Final = 1 << 16
_SHOWN_KEY: Final = 40  # letters
# How other forms begin (cloud-init's documentation of user-data formats), and gzip and templates of it.
_OTHERS: Final = (
    "#!", "#cloud-boothook", "#include", "#include-once", "#part-handler", "#cloud-config-archive", "#cloud-config-jsonp",
    "## template:", "content-type:", "mime-version:", "from nobody", "h4si", "#upstart-job", "#ps1", "rem cmd",
    "<powershell>", "<script>",  # cloudbase-init's, as on EC2
    "version:", "machine:",  # Talos
)  # fmt: skip
# Of these, what neither cloud-init nor cloudbase-init reads: Ignition and Talos.
_NO_CLOUD_INIT: Final = ("{", "version:", "machine:")
_HEADERS: Final = 4096  # as far as cloud-init looks for those of MIME
# Keys that nothing but a cloud-config begins a line with: a text that has one and lacks its head is one.
_TELLING: Final = frozenset({
    "packages", "package_update", "package_upgrade", "runcmd", "bootcmd", "write_files", "ssh_authorized_keys", "ssh_pwauth",
    "chpasswd", "users", "growpart", "autoinstall",
})  # fmt: skip
# Every key of a cloud-config by cloud-init's own schema (25.1), and a few that stand beside it.
_KEYS: Final = (
    "allow_public_ssh_keys", "ansible", "apk_repos", "apt", "apt_mirror", "apt_pipelining",
    "apt_reboot_if_required", "apt_update", "apt_upgrade", "authkey_hash", "autoinstall", "bootcmd", "bootstrap",
    "byobu_by_default", "ca-certs", "ca_certs", "chef", "chpasswd", "cloud_config_modules", "cloud_final_modules",
    "cloud_init_modules", "cloud_type", "coreos", "create_hostname_file", "datasource", "datasource_list",
    "def_log_file", "device_aliases", "disable_ec2_metadata", "disable_root", "disable_root_opts", "disk_setup",
    "drivers", "fan", "final_message", "fqdn", "fs_setup", "groups", "growpart", "grub-dpkg", "grub_dpkg",
    "hostname", "instance-id", "keyboard", "landscape", "launch-index", "locale", "locale_configfile", "log_cfgs",
    "lxd", "manage-resolv-conf", "manage_etc_hosts", "manage_resolv_conf", "mcollective", "merge_how", "merge_type",
    "migrate", "mount_default_fields", "mount_options", "mounts", "network", "no_ssh_fingerprints", "ntp", "output",
    "package_reboot_if_required", "package_update", "package_upgrade", "packages", "password", "phone_home",
    "power_state", "prefer_fqdn_over_hostname", "preserve_hostname", "puppet", "random_seed", "reporting",
    "resize_rootfs", "resolv_conf", "rh_subscription", "rsyslog", "runcmd", "salt_minion", "seed_random", "snap",
    "snappy", "spacewalk", "ssh", "ssh_authorized_keys", "ssh_deletekeys", "ssh_fp_console_blacklist",
    "ssh_genkeytypes", "ssh_import_id", "ssh_key_console_blacklist", "ssh_keys", "ssh_publish_hostkeys",
    "ssh_pwauth", "ssh_quiet_keygen", "swap", "syslog_fix_perms", "system_info", "timezone", "ubuntu_advantage",
    "ubuntu_drivers", "ubuntu_pro", "unverified_modules", "updates", "user", "users", "vendor_data", "vendor_data2",
    "version", "warnings", "wireguard", "write_files", "write_files_deferred", "yum_add_repo", "yum_repo_dir",
    "yum_repos", "zypper",
)  # fmt: skip
_LISTS: Final = ("packages", "runcmd", "bootcmd", "write_files", "ssh_authorized_keys", "mounts")
_MAPPINGS: Final = ("apt", "ntp", "growpart", "phone_home", "power_state", "disk_setup", "autoinstall", "reporting")


def is_too_large(text: str) -> bool:
    """Whether a text has more bytes than are served."""
    return len(text.encode(errors="replace")) > MAX_USER_DATA


def unfit(text: str) -> list[Problem]:
    """Everything that is wrong with such a text, each with its line in it.

    Gzip in base64 must be whole: it is unpacked as cloud-init does it (`util.decomp_gzip`). What is in it is not looked at.
    """
    if is_too_large(text):
        size = len(text.encode(errors="replace"))
        return [Problem(text=f"{size} bytes: at most {MAX_USER_DATA >> 10} KiB are served")]
    if not text.strip():
        return []
    if text.startswith("\ufeff"):
        return [
            Problem(
                line=1, text="a byte order mark stands before it, and no system reads it so: save it as UTF-8 without"
            )
        ]
    if text.lstrip().startswith(GZIP_IN_BASE64):
        return list(_gzip_problems(text))
    # As cloud-init finds out what a text is: in any case, and behind what is blank.
    first = text.strip().splitlines()[0].lower()
    if first.startswith("{"):
        return list(_json_problems(text))
    if first.startswith(_HEAD) and not first.startswith(_OTHERS):
        return list(_cloud_config_problems(text))
    if first.startswith(_ARCHIVE):
        return list(_archive_problems(text))
    return [] if first.startswith(_OTHERS) else list(_headless(text, first))


def remarks_on(text: str) -> Remarks:
    """What there is to say of a fit text: cloud-init ignores all of it, or keys that are misspellings of its own; and what else is odd (`odd`).

    Others read user-data as well, such as Kickstart, so this is no reason to refuse it unless somebody is strict.
    """
    begins = text.strip().lower()
    if not begins or begins.startswith(_NO_CLOUD_INIT):
        return Remarks()
    unread = ignored_whole(text)
    if unread is not None:
        return Remarks(ignored=(unread,))
    root = _fit_root(text)
    slips = {str(each.value)[:_SHOWN_KEY] for each in _unknown(root) if _is_slip(str(each.value))} if root else set()
    told = odd(text)
    return Remarks(
        ignored=tuple(each for each in told if each.key in slips),
        notes=tuple(each for each in told if each.key not in slips),
    )


def ignored_whole(text: str) -> Problem | None:
    """Why cloud-init ignores all of a text; None where it reads some of it, or cloudbase-init does."""
    stripped = text.strip()
    begins = stripped.lower()
    if not begins:
        return Problem(text="cloud-init finds nothing in it, for it is empty")
    reads = begins.startswith((_HEAD, *_OTHERS)) and not begins.startswith(_NO_CLOUD_INIT)
    if reads or "mime-version:" in text[:_HEADERS].lower():
        return None
    line = 1 + text[: text.index(stripped[0])].count("\n")
    first = quoted(stripped.splitlines()[0], 40)
    return Problem(line=line, text=f"cloud-init ignores all of it, for it knows nothing that begins with {first}")


def odd(text: str) -> list[Problem]:
    """What is odd in a fit cloud-config, in the order of its lines: `misreadings`, and keys that cloud-init does not know.

    A newer one may know them.
    """
    root = _fit_root(text)
    if root is None:
        return []
    unknown = [
        Problem(
            line=line_of(each),
            key=str(each.value)[:_SHOWN_KEY],
            text=f"cloud-init has no such key; {meant(str(each.value), _KEYS)}",
        )
        for each in _unknown(root)
    ]
    return sorted([*unknown, *_misreadings(root)], key=lambda each: each.line or 0)


def _unknown(root: MappingNode) -> list[ScalarNode]:
    return [each for each, _ in _named(root) if each.value not in _KEYS]


def _is_slip(key: str) -> bool:
    near = nearest(key, _KEYS)
    return bool(near) and is_misspelt(key, near)


def misreadings(text: str) -> list[Problem]:
    """What of a fit cloud-config YAML reads as hardly anybody means it: keys that are given twice, modes that are numbers."""
    root = _fit_root(text)
    return list(_misreadings(root)) if root is not None else []


def _misreadings(root: MappingNode) -> Iterator[Problem]:
    yield from loading(root).notes
    files = _fields(root).get("write_files")
    for index, each in enumerate(files.value if isinstance(files, SequenceNode) else ()):
        mode = _fields(each).get("permissions") if isinstance(each, MappingNode) else None
        if isinstance(mode, ScalarNode) and mode.style is None and str(mode.value).isdigit():
            text = f"quote the mode ({str(mode.value)!r}): YAML reads it as a number, an octal one if it begins with 0"
            yield Problem(line=line_of(mode), key=f"write_files[{index}].permissions", text=text)


def cloud_config(text: str) -> list[tuple[ScalarNode, Node]] | None:
    """The keys of a cloud-config with their values; None where a text is none, or not fit."""
    if not _is_cloud_config(text) or unfit(text):
        return None
    root = _fit_root(text)
    return _named(root) if root is not None else []


def _fit_root(text: str) -> MappingNode | None:
    """What stands in a fit text that is a cloud-config; None where it is none, or has nothing but its head."""
    if not _is_cloud_config(text):
        return None
    documents = compose(text)
    root = documents[0] if documents else None
    return root if isinstance(root, MappingNode) else None


def _is_cloud_config(text: str) -> bool:
    begins = text.strip().lower()
    return begins.startswith(_HEAD) and not begins.startswith(_OTHERS)


def _fields(node: MappingNode) -> dict[str, Node]:
    return {str(name.value): value for name, value in _named(node)}


def _named(node: MappingNode) -> list[tuple[ScalarNode, Node]]:
    return [(name, value) for name, value in node.value if isinstance(name, ScalarNode)]


def _gzip_problems(text: str) -> Iterator[Problem]:
    packed, again = gzip_of(text), "pack it again with `gzip -c FILE | base64`"
    if not packed:
        yield Problem(text=f"it begins like gzip in base64, but it is not valid base64: {again}")
        return
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            while file.tell() < _UNPACKED and file.read(_PIECE):
                pass
    except EOFError:
        yield Problem(text=f"its gzip is damaged: its end is missing; {again}")
    except (OSError, zlib.error) as error:
        yield Problem(text=f"its gzip is damaged: {error}; {again}")


def _json_problems(text: str) -> Iterator[Problem]:
    """Of Ignition's form, and of anything else in JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        yield Problem(line=line, text=f"not valid JSON: {getattr(error, 'msg', error)}")


def _headless(text: str, first: str) -> Iterator[Problem]:
    """A cloud-config that cloud-init would ignore, for its first line says nothing to it."""
    if first.replace(" ", "").startswith(_HEAD):
        yield Problem(
            line=1, text=f"the first line must be {_HEAD}, without a space: cloud-init ignores this text as it is"
        )
        return
    if first.startswith(("<!doctype", "<html")):
        yield Problem(line=1, text="this is a web page: its address was a page's, or it is gone; download it again")
        return
    for number, line in enumerate(text.splitlines(), 1):
        name, colon, _ = line.partition(":")
        if line.rstrip() == _HEAD or (colon and name in _TELLING):
            where = f"{_HEAD} must be the first line" if not colon else f"the first line must be {_HEAD}"
            yield Problem(line=number if not colon else 1, text=f"{where}: cloud-init ignores this text as it is")
            return


def _archive_problems(text: str) -> Iterator[Problem]:
    """Of several texts in a list, each by itself or as the `content` of a map (cloud-init's documentation of cloud-config archives)."""
    try:
        documents = compose(text)
    except Invalid as error:
        yield from error.problems
        return
    if documents and not is_null(documents[0]) and not isinstance(documents[0], SequenceNode):
        told = "expected a list of parts, such as `- content: |`: cloud-init ignores this archive as it is"
        yield Problem(line=line_of(documents[0]), text=told)


def _cloud_config_problems(text: str) -> Iterator[Problem]:
    try:
        documents = compose(text)
    except Invalid as error:
        yield from error.problems
        return
    if len(documents) > 1:
        yield Problem(line=line_of(documents[1]), text="a second document begins here: cloud-init reads only one")
    if not documents or is_null(documents[0]):
        return
    root = documents[0]
    if not isinstance(root, MappingNode):
        yield Problem(line=line_of(root), text="expected keys with values, such as `packages: [curl]`")
        return
    try:
        yield from loading(root).problems
    except Invalid as error:
        yield from error.problems
        return
    fields = _fields(root)
    yield from _shapes(fields)
    if "users" in fields:
        yield from _users(fields["users"])
    if isinstance(files := fields.get("write_files"), SequenceNode):
        yield from _files(files)


def _shapes(fields: Mapping[str, Node]) -> Iterator[Problem]:
    for name in _LISTS:
        node = fields.get(name)
        if node is not None and not is_null(node) and not isinstance(node, SequenceNode):
            yield Problem(line=line_of(node), key=name, text="expected a list: begin each entry with `- `")
    for name in _MAPPINGS:
        node = fields.get(name)
        if node is not None and not is_null(node) and not isinstance(node, MappingNode):
            yield Problem(line=line_of(node), key=name, text="expected keys with values")


def _users(node: Node) -> Iterator[Problem]:
    if isinstance(node, MappingNode):
        yield Problem(line=line_of(node), key="users", text="expected a list: begin each user with `- name: …`")
    if not isinstance(node, SequenceNode):
        return
    for index, each in enumerate(node.value):
        key = f"users[{index}]"
        if isinstance(each, ScalarNode):
            continue
        if not isinstance(each, MappingNode):
            yield Problem(line=line_of(each), key=key, text="expected a name, or keys with values: `- name: ann`")
            continue
        fields = _fields(each)
        if not fields.keys() & {"name", "snapuser", "<<"}:
            yield Problem(line=line_of(each), key=key, text="a user needs its name")
        keys = fields.get("ssh_authorized_keys", fields.get("ssh-authorized-keys"))
        if keys is not None and not is_null(keys) and not isinstance(keys, SequenceNode):
            yield Problem(line=line_of(keys), key=f"{key}.ssh_authorized_keys", text="expected a list of keys")


def _files(node: SequenceNode) -> Iterator[Problem]:
    for index, each in enumerate(node.value):
        key = f"write_files[{index}]"
        if not isinstance(each, MappingNode):
            yield Problem(line=line_of(each), key=key, text="expected keys with values: `- path: /etc/motd`")
            continue
        if not _fields(each).keys() & {"path", "<<"}:
            yield Problem(line=line_of(each), key=key, text="a file needs its path")
