"""Byte code of Python modules: the same for every processor, and on a machine whose files are in memory worth seconds."""

import compileall
import py_compile
import sys
from pathlib import Path

# Byte code is for one version of Python.
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"


def compiled(folder: Path, root: Path, *, sources: bool) -> None:
    """Compile every module in `folder`, a folder below the file tree `root`.

    Their byte code names the modules as they will be called when `root` is the root.  Without `sources` it takes their place.
    """
    compileall.compile_dir(
        folder,
        quiet=2,
        stripdir=str(root),
        prependdir="/",
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        force=True,
        legacy=not sources,
        limit_sl_dest=str(root),  # a link such as sitecustomize's leads to a file of this host
    )
    if not sources:
        for source in [each for each in folder.rglob("*.py") if each.with_suffix(".pyc").exists()]:
            source.unlink()
