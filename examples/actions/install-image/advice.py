"""What a person can do about each reason of failure, by the reason's word; README.md says what each means."""

from failure import NEW_TEXT

_OTHER_IMAGE = "Check the image's address and its checksum file: both must be of the same version"
_DISK = "Look at the disk: its cable, and its SMART values (smartctl -a). Replace it when the failure comes back"
_TEMPLATE = f"Correct the action's environment in the template; the action's README lists its variables{NEW_TEXT}"
ADVICE = {
    "MissingParameter": _TEMPLATE,
    "InvalidParameter": _TEMPLATE,
    "ImageNotFound": (
        "Check that the image is there: type `curl -I ADDRESS` for an address of a web server, or `tinkbox image list` "
        "for a name without an address"
    ),
    "NotASystemImage": "Type `tinkbox image list` and write the name of a system image",
    "NotAnImage": "Open the address with curl, and write the address of the raw disk image itself, plain or compressed",
    "ImageDamaged": "Download the file on another machine and test it (gzip -t, xz -t, zstd -t); then upload it again",
    "ImageEmpty": "Upload the image to the server again: the file has no bytes",
    "ImageChanged": "Run the workflow again when the file on the server does not change any more",
    "ChecksumMismatch": f"{_OTHER_IMAGE}. IMG_SHA256 is the digest of the file as it is downloaded, compressed or not",
    "SizeMismatch": f"{_OTHER_IMAGE}. IMG_SIZE is the size of the image as it is written, without compression",
    "SizeUnknown": "Set IMG_SHA256 or IMG_SIZE in the action's environment",
    "DownloadRefused": "Check who may read that address: open it with curl from the network of the machine",
    "DownloadFailed": (
        "Check that the server runs, that its name is right, and that the machine's network leads to it: its name servers and its "
        "gateway stand in `tinkbox hardware get MACHINE`. RETRY_ENABLED keeps trying"
    ),
    "CertificateRefused": "Give the server a certificate that the machine trusts, or serve the image over http with IMG_SHA256",
    "DiskTooSmall": "Use a larger disk (write `disk: largest` beside the action's image), or a smaller image",
    "ImageTooLarge": "Use a larger disk (write `disk: largest` beside the action's image), or a smaller image",
    "DiskNotFound": f"Type `tinkbox hardware get MACHINE` for the disks that the machine has, and correct the template{NEW_TEXT}",
    "DiskBusy": "Unmount the disk, or reboot the machine; an earlier action may still use it",
    "DiskIsPartition": "Name the whole disk, or set GROW=false and SEED=none",
    "WrongSectorSize": "Use an image that is made for such disks, or another disk",
    "NoPartitionTable": "Set SEED=none, or use an image that is partitioned",
    "NoPartitionFree": "Set SEED=none, or use an image with fewer partitions",
    "MetadataNotFound": "Check the machine's hardware document: `tinkbox hardware get MACHINE`",
    "MetadataInvalid": "Correct the metadata in the machine's hardware document: `tinkbox hardware edit MACHINE`",
    "SeedTooLarge": "Make the user-data in the machine's hardware document shorter",
    "GrowFailed": "Retry the workflow; set GROW=false when it fails again",
    "WriteFailed": _DISK,
    "ReadFailed": _DISK,
    "DiskLies": _DISK,
    "WrongArchitecture": "Write the name of the image for this machine's processor: `tinkbox image list` shows them",
}
