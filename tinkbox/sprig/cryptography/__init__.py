"""Sprig's functions of its section on cryptography and security: keys, certificates, passwords, ciphers, checksums."""
