"""The one-file program: an archive that Python runs, with all packages in it, for a host without network."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipapp
from pathlib import Path

from release.unpack_dependencies import set_times

_MAIN = Path(__file__).with_name("zipapp_main.py")


def build_zipapp(packages: Path, target: Path) -> None:
    """Write the program, made of the unpacked ``packages``, to ``target``."""
    digest = hashlib.sha256()
    for path in sorted(packages.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(packages)}\0".encode())
            digest.update(path.read_bytes())
    with tempfile.TemporaryDirectory(prefix="pbsteer-zipapp-") as folder:
        source = Path(folder) / "source"
        shutil.copytree(packages, source / "site-packages")
        text = _MAIN.read_text(encoding="utf-8").replace("@DIGEST@", digest.hexdigest()[:32])
        (source / "__main__.py").write_text(text, encoding="utf-8")
        set_times(source, int(os.environ["SOURCE_DATE_EPOCH"]))
        zipapp.create_archive(source, target, "/usr/bin/env python3", compressed=True)
    target.chmod(0o755)
