"""Writes an ext4 file system from its beginning to its end: a tree of files in, the bytes of a partition out.

`tree` is what goes in, `planning` decides where everything lies, `writing` makes the bytes of it by `records`.  The format is that of
the kernel's Documentation/filesystems/ext4; what is written has the features that today's mke2fs gives to a file system.
"""
