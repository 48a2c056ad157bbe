"""Makes a system image of a disk image: a raw disk or a qcow2 file, compressed or not, becomes an OCI archive.

What reads the file is a confined process (`reading`), so that a hostile image can at most waste its own time.
"""

from tinkbox.system_images.packing import pack

__all__ = ["pack"]
