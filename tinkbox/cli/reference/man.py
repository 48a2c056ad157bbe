"""Man pages: tinkbox(1), one for each noun with all its verbs, and tinkbox.yaml(5)."""

import re
from collections.abc import Iterator, Mapping, Sequence

from tinkbox import __version__
from tinkbox.cli import exit_statuses
from tinkbox.cli.reference.declarations import PROGRAM, Argument, Command, Flag
from tinkbox.cli.reference.examples import example
from tinkbox.settings import reference

_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")  # Markdown's, of which a man page has the text
ENVIRONMENT = """\
.SH ENVIRONMENT
.TP
.B TINKBOX_SERVER
The appliance to speak to: https://HOST:PORT or unix://SOCKET.
Without it, the box of the last `tinkbox login`, or else the unix socket of the appliance on this host.
.TP
.B TINKBOX_TOKEN
The token for it. Without it, the one that `tinkbox login` keeps of this box.
.TP
.B SSL_CERT_FILE
A file of certificates (PEM) that are trusted for a box of which no login is kept.
.TP
.B TINKBOX_TO_TOKEN
The token of the other appliance that `tinkbox image copy --to` names.
"""


def pages(program: Command) -> Mapping[str, str]:
    """Every page by the name of its file, such as tinkbox-workflow.1."""
    nouns = {f"{PROGRAM}-{each.path[0]}.1": _noun(each) for each in program.below}
    return {f"{PROGRAM}.1": _program(program), **nouns, "tinkbox.yaml.5": _settings()}


def _program(program: Command) -> str:
    return "\n".join(
        (
            _title(PROGRAM, "1"),
            f".SH NAME\n{PROGRAM} \\- {_line(program.story.rstrip('.'))}",
            f".SH SYNOPSIS\n{_synopsis(program)}",
            ".SH COMMANDS",
            *(f".TP\n.BR {_word(f'{PROGRAM}-{each.path[0]}')} (1)\n{_line(each.about)}" for each in program.below),
            ".SH OPTIONS",
            *_options(program),
            _statuses() + ENVIRONMENT + ".SH SEE ALSO\n.BR tinkbox.yaml (5)\n",
        )
    )


def _noun(noun: Command) -> str:
    name = f"{PROGRAM}-{noun.path[0]}"
    parts = [_title(name, "1"), f".SH NAME\n{_word(name)} \\- {_line(noun.about)}", ".SH SYNOPSIS"]
    commands = noun.below or (noun,)
    parts += ["\n.br\n".join(map(_synopsis, commands)), ".SH DESCRIPTION", _paragraphs(noun.story)]
    if noun.epilog:
        parts += [".PP\n.nf", *map(_line, noun.epilog.splitlines()), ".fi"]
    if noun.below:
        parts.append(".SH COMMANDS")
    for each in commands:
        if noun.below:
            parts += [f".SS {_quoted(each.line)}", _paragraphs(each.story)]
        elif each.flags or each.arguments:
            parts.append(".SH OPTIONS")
        parts += _options(each)
        parts.append(f".PP\nExample:\n.PP\n.nf\n.RS\n{_line(example(each))}\n.RE\n.fi")
    return "\n".join((*parts, _statuses() + ".SH SEE ALSO\n.BR tinkbox (1)\n"))


def _statuses() -> str:
    told = (f".TP\n{status}\n{_line(f'{about[0].upper()}{about[1:]}.')}\n" for status, about in exit_statuses.ABOUT)
    return "".join((".SH EXIT STATUS\n", *told))


def _settings() -> str:
    rows = (
        f".TP\n.B {_line(each.key)}\n{_line(_LINK.sub(lambda link: link[1], each.help_text))}.\nTakes {_line(each.takes)}."
        + (f"\nDefault: {_line(each.default)}." if each.default else "")
        for each in reference.rows()
    )
    return "\n".join(
        (
            _title("tinkbox.yaml", "5"),
            ".SH NAME\ntinkbox.yaml \\- configuration of a tinkbox appliance",
            ".SH DESCRIPTION\nEvery key has a default.  A key with dots stands in sections:",
            ".B node.http_port\nis the key http_port below node.",
            ".SH KEYS",
            *rows,
            ".SH FILES\n/etc/tinkbox/tinkbox.yaml\n.SH SEE ALSO\n.BR tinkbox\\-serve (1)\n",
        )
    )


def _title(name: str, section: str) -> str:
    return f'.TH "{_word(name)}" {section} "" "tinkbox {_word(__version__)}" "tinkbox"\n.nh\n.ad l'


def _synopsis(command: Command) -> str:
    rest = command.usage.removeprefix(command.line)
    return f".B {_line(command.line)}\n{_line(rest.strip())}".rstrip()


def _options(command: Command) -> Iterator[str]:
    described: Sequence[Flag | Argument] = (*command.arguments, *command.flags)
    for each in described:
        yield f".TP\n{_bold(each)}\n{_line(each.about) or '.br'}"


def _bold(each: Flag | Argument) -> str:
    if isinstance(each, Argument):
        return f".I {_quoted(each.shown)}"
    names = ", ".join(f"\\fB{_word(name)}\\fR" for name in each.names)
    return f"{names} \\fI{_word(each.takes)}\\fR" if each.takes else names


def _paragraphs(text: str) -> str:
    return "\n.PP\n".join(_line(" ".join(each.split())) for each in text.split("\n\n"))


def _line(text: str) -> str:
    """One line of text, which asks for nothing of roff."""
    escaped = _word(text)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _word(text: str) -> str:
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in plain)


def _quoted(text: str) -> str:
    return '"' + _word(text).replace('"', "\\(dq") + '"'
