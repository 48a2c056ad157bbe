"""What the operator configured: each setting is declared once, with its key, default, reader and help.

`all_settings` has them, with a module for each subject; `declaring` is how one is declared.  No other package
reads the environment.
"""

from tinkbox.settings.environment import (
    FORMAT,
    TO_TOKEN,
    ClientTarget,
    default_cache,
    editor,
    other_token,
    output_format,
    own_configuration,
    target_of,
    terminal_kind,
    wants_colours,
)
from tinkbox.settings.file import CONFIG, client_target, is_draft, load, with_login

__all__ = [
    "CONFIG",
    "FORMAT",
    "TO_TOKEN",
    "ClientTarget",
    "client_target",
    "default_cache",
    "editor",
    "is_draft",
    "load",
    "other_token",
    "output_format",
    "own_configuration",
    "target_of",
    "terminal_kind",
    "wants_colours",
    "with_login",
]
