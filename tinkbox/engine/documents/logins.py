"""Who can log in to a system, as far as its user-data tells.

cloud-init makes the system's default user, and gives it the keys of the metadata, unless `users` leaves out `default`
(cloud-init's module "Users and Groups").
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tinkbox.engine.documents.user_data import cloud_config, ignored_whole
from tinkbox.yaml_nodes import is_null

# Of a user, and of the whole text for the default user; a merge key brings what is not looked at here.
_WAYS_OF_A_USER: Final = (
    "ssh_authorized_keys", "ssh-authorized-keys", "ssh_import_id", "passwd", "hashed_passwd", "plain_text_passwd", "snapuser",
    "<<",
)  # fmt: skip
_WAYS: Final = ("ssh_authorized_keys", "ssh_import_id", "password", "chpasswd")
# What may do anything, also let people in.
_PROGRAMS: Final = ("runcmd", "bootcmd", "write_files", "ansible", "chef", "puppet", "salt_minion", "mcollective", "<<")


@dataclass(frozen=True, slots=True, kw_only=True)
class Logins:
    """`default`: the system's default user is made; `renamed`: its name, where the text gives it another.

    `told`: the text has a key or password for it.  `own` are other users with a key or password; `programs`: it runs programs.
    """

    default: bool = True
    renamed: str = ""
    told: bool = False
    own: tuple[str, ...] = ()
    programs: bool = False


def logins(user_data: str) -> Logins | None:
    """None where it is no cloud-config, which does not tell."""
    if ignored_whole(user_data) is not None:
        return Logins()
    keys = cloud_config(user_data)
    return None if keys is None else _logins({str(name.value): value for name, value in keys})


def user_of(user_data: str, default_user: str) -> str:
    """The name to log in with; empty where there is none, or none is known."""
    found = logins(user_data)
    if found is None:
        return default_user
    if found.default:
        return found.renamed or default_user
    return next(iter(found.own), "")


def doubts(user_data: str, *, keys: bool) -> Iterator[str]:
    """What to say before a system is installed that may not let its operator in; `keys` says that the metadata has some."""
    found = logins(user_data)
    if found is None:
        return
    if keys and not found.default:
        yield (
            "`users` of the user-data leaves out `default`, so there is no user for the ssh keys: add `- default` to `users`, "
            "or give a user `ssh_authorized_keys`"
        )
    elif not (found.own or found.programs or (found.default and (keys or found.told))):
        yield "no user gets a key or a password, so you could not log in: give one `ssh_authorized_keys` in the user-data"


def _logins(config: Mapping[str, Node]) -> Logins:
    users, user = config.get("users"), config.get("user")
    named, plain = _users(users)
    renamed = _fields(user).get("name") if isinstance(user, MappingNode) else user
    return Logins(
        default=users is None or is_null(users) or "default" in plain or "default" in named,
        renamed=str(renamed.value) if isinstance(renamed, ScalarNode) and not is_null(renamed) else "",
        told=any(_says(config, name) for name in _WAYS) or _lets_in(_fields(user)),
        own=tuple(name for name, fields in named.items() if name != "default" and _lets_in(fields)),
        programs=any(_says(config, name) for name in _PROGRAMS),
    )


def _users(node: Node | None) -> tuple[dict[str, dict[str, Node]], list[str]]:
    """The users with their fields, and those of which only the name is there."""
    if isinstance(node, ScalarNode):
        return {}, [each.strip() for each in str(node.value).split(",")]
    named, plain = dict[str, dict[str, Node]](), list[str]()
    for each in node.value if isinstance(node, SequenceNode) else ():
        fields = _fields(each)
        name = fields.get("name", each)
        if isinstance(each, ScalarNode):
            plain.append(str(each.value))
        elif isinstance(name, ScalarNode):
            named[str(name.value)] = fields
    return named, plain


def _fields(node: Node | None) -> dict[str, Node]:
    pairs = node.value if isinstance(node, MappingNode) else ()
    return {str(name.value): value for name, value in pairs if isinstance(name, ScalarNode)}


def _lets_in(user: Mapping[str, Node]) -> bool:
    return any(_says(user, name) for name in _WAYS_OF_A_USER)


def _says(fields: Mapping[str, Node], name: str) -> bool:
    """Whether there is anything under a name."""
    node = fields.get(name)
    return node is not None and not is_null(node) and bool(node.value)
