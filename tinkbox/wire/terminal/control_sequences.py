"""What programs say to a terminal in the midst of their text (ECMA-48, and xterm's private sequences).

Rule 1: what is shown a second time asks nothing a second time: the terminal's answer would be taken for typing.
Rule 2: whoever leaves a program in the middle puts back what that program changed of the terminal.
"""

import re

_QUESTIONS = re.compile(
    rb"\x05"  # ENQ, who are you
    rb"|\x1bZ"  # DECID
    rb"|\x1b\[[=>]?[0-9;]*c"  # DA: which kind of terminal
    rb"|\x1b\[\??[0-9;]*n"  # DSR: where is the cursor, and others
    rb"|\x1b\[>[0-9]*q"  # XTVERSION
    rb"|\x1b\[\??[0-9;]*\$p"  # DECRQM: which mode is on
    rb"|\x1b\[[01]?x"  # DECREQTPARM
    rb"|\x1b\[\?u"  # which keys are told apart
    rb"|\x1b\[(?:1[1-9]|2[01])(?:;[0-9]*)*t"  # how large, where, what title
    rb"|\x1b\][0-9]+;(?:[^\x07\x1b]*;)?\?(?:\x07|\x1b\\)"  # OSC: which colours, what is in the clipboard
    rb"|\x1bP[$+]q[^\x07\x1b]*(?:\x07|\x1b\\)"  # DCS: which settings, which capabilities
)
_CONTROL = re.compile(rb"\x1b\[([<=>?]?)([0-9;]*)([a-zA-Z])")
_CUT_OFF = re.compile(rb"\x1b(?:\[[<=>?]?[0-9;]{0,40})?\Z")
# Those a program switches on for itself; switched off they harm nothing, which cannot be said of all.
_FOR_A_WHILE = (1, 9, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 1016, 2004, 2026, 47, 1047, 1049)
_ORDINARY = (7, 25)  # on in every terminal: wrapped lines, a visible cursor
# DECSTR: no attributes, margins, character sets or keys of its own; it moves nothing and clears nothing.
_SOFT_RESET = b"\x1b[!p\x1b[0m"


def without_questions(content: bytes) -> bytes:
    """Output to be shown again, without what a terminal would answer."""
    return _QUESTIONS.sub(b"", content)


class Traces:
    """What a terminal was told, as far as it must be taken back when a program is left in the middle."""

    def __init__(self) -> None:
        self._modes: dict[int, bool] = {}
        self._keys = 0
        self._modified = False
        self._rest = b""
        self._touched = False

    def add(self, content: bytes) -> None:
        """Note what was shown; sequences may be cut anywhere."""
        self._touched = self._touched or bool(content)
        content = self._rest + content
        cut = _CUT_OFF.search(content)
        self._rest = cut[0] if cut else b""
        for prefix, numbers, final in _CONTROL.findall(content):
            self._note(prefix + final, [int(each) for each in numbers.split(b";") if each])

    def undo(self) -> bytes:
        """What makes the terminal ordinary again; after it nothing is left to undo."""
        if not self._touched:
            return b""
        off = [b"\x1b[?%dl" % mode for mode in _FOR_A_WHILE if self._modes.get(mode)]
        on = [b"\x1b[?%dh" % mode for mode in _ORDINARY if not self._modes.get(mode, True)]
        keys = [b"\x1b[<%du" % self._keys] if self._keys else []
        modified = [b"\x1b[>4m"] if self._modified else []
        self._modes.clear()
        self._keys, self._modified, self._rest, self._touched = 0, False, b"", False
        return b"".join([*keys, *modified, *off, *on, _SOFT_RESET])

    def _note(self, kind: bytes, numbers: list[int]) -> None:
        if kind in (b"?h", b"?l"):
            self._modes |= dict.fromkeys(numbers, kind == b"?h")
        elif kind == b">u":  # the keyboard's ways, pushed and popped
            self._keys += 1
        elif kind == b"<u":
            self._keys = max(0, self._keys - (numbers[0] if numbers else 1))
        elif kind == b">m" and numbers[:1] == [4]:  # modifyOtherKeys
            self._modified = len(numbers) > 1 and numbers[1] > 0
