"""Who can log in to a system, as far as a cloud-config tells it.

cloud-init makes the system's default user, and gives it the keys of the metadata, unless `users` leaves out `default`
(cloud-init's module "Users and Groups").
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from tinkbox.engine.documents.user_data import unfit

# Of a user, and of the whole text for the default user.
_WAYS_OF_A_USER: Final = (
    "ssh_authorized_keys", "ssh-authorized-keys", "ssh_import_id", "passwd", "hashed_passwd", "plain_text_passwd", "snapuser",
)  # fmt: skip
_WAYS: Final = ("ssh_authorized_keys", "ssh_import_id", "password", "chpasswd")
# What may do anything, also let people in.
_PROGRAMS: Final = ("runcmd", "bootcmd", "write_files", "ansible", "chef", "puppet", "salt_minion", "mcollective")


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
    """None: it is no cloud-config, so nobody can tell."""
    text = user_data.lstrip()
    if not text:
        return Logins()
    if not text.lower().startswith("#cloud-config\n") or unfit(text):
        return None
    found = yaml.safe_load(text)
    return _logins(found if isinstance(found, Mapping) else {})


def user_of(user_data: str, default_user: str) -> str:
    """The name to log in with; empty where there is none, or none is known."""
    found = logins(user_data)
    if found is None:
        return default_user
    if found.default:
        return found.renamed or default_user
    return next(iter(found.own), "")


def doubts(user_data: str, *, keys: bool) -> Iterator[str]:
    """What to say before a system is installed that may let its operator not in; `keys` says that the metadata has some."""
    found = logins(user_data)
    if found is None:
        return
    if keys and not found.default:
        yield (
            "`users` leaves out `default`, so the default user is not made and --ssh-key lets nobody in: add `- default` "
            "to `users`, or give a user `ssh_authorized_keys`"
        )
    elif not (found.own or found.programs or (found.default and (keys or found.told))):
        yield "no user has a key or a password: you could not log in; add --ssh-key ~/.ssh/id_ed25519.pub"


def _logins(config: Mapping[Any, Any]) -> Logins:
    users, user = config.get("users"), config.get("user")
    listed: Sequence[Any] = users if isinstance(users, list) else [users] if isinstance(users, str) else []
    named = [each for each in listed if isinstance(each, Mapping)]
    return Logins(
        default=users is None or "default" in [*listed, *(each.get("name") for each in named)],
        renamed=str(user.get("name", "") if isinstance(user, Mapping) else user or ""),
        told=any(config.get(name) for name in _WAYS) or (isinstance(user, Mapping) and _let_in(user)),
        own=tuple(str(each.get("name", "")) for each in named if each.get("name") != "default" and _let_in(each)),
        programs=any(config.get(name) for name in _PROGRAMS),
    )


def _let_in(user: Mapping[Any, Any]) -> bool:
    return any(user.get(name) for name in _WAYS_OF_A_USER)
