"""BLAKE2 without OpenSSL, which `hashlib` loads: a fifth of what importing core takes."""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # not CPython
    from hashlib import blake2b

__all__ = ["blake2b"]
