"""What the C library does with freed memory, seen from a process of its own."""

import ctypes
import subprocess
import sys

import pytest

from tinkbox.freed_memory import give_back_freed_memory

# Frees many blocks of some megabytes, with something small between them that stays; prints the MiB that are left.
HOARD = """
import re
from tinkbox.freed_memory import give_back_freed_memory
assert give_back_freed_memory()
def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) >> 10
before, between = resident(), []
for _ in range(3):
    blocks = []
    for size in range(40):
        blocks.append(b"x" * ((size % 9 + 1) << 20))
        between.append(b"y" * 100_000)
    del blocks
print(resident() - before - (sum(map(len, between)) >> 20))
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="this C library has no mallopt")
def test_freed_memory_goes_back_to_the_kernel() -> None:
    ended = subprocess.run([sys.executable, "-c", HOARD], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 20


def test_a_c_library_without_mallopt_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not give_back_freed_memory()
