"""Placeholder packages for Debian: control fields, a few files, built by dpkg-deb."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

FILES = Path(__file__).parent / "files"
MAINTAINER = "the lab of inferops.gpustack <nobody@example.com>"
SIMULATED = "simulated by the lab of inferops.gpustack; not made by NVIDIA"
FIELDS = ("Depends", "Provides", "Conflicts", "Replaces")


@dataclass
class Package:
    name: str
    version: str
    summary: str
    #: Depends, Provides, Conflicts and Replaces by name.
    relations: dict = field(default_factory=dict)
    #: Path in the package: text or bytes; a Path is the target of a link. Those in a bin directory are executable.
    files: dict = field(default_factory=dict)
    #: preinst, postinst, prerm and postrm by name.
    scripts: dict = field(default_factory=dict)
    architecture: str = "amd64"

    @property
    def file_name(self):
        # The epoch is no part of it.
        return f"{self.name}_{self.version.split(':')[-1]}_{self.architecture}.deb"

    def control(self):
        fields = {
            "Package": self.name,
            "Version": self.version,
            "Architecture": self.architecture,
            "Maintainer": MAINTAINER,
            **{name: self.relations[name] for name in FIELDS if self.relations.get(name)},
            "Description": f"{self.summary} ({SIMULATED})",
        }
        return "".join(f"{name}: {value}\n" for name, value in fields.items())

    def build(self, directory):
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            tree = Path(scratch)
            # dpkg would take over the mode of the scratch directory for / otherwise.
            tree.chmod(0o755)
            _put(tree, "DEBIAN/control", self.control(), 0o644)
            for name, text in self.scripts.items():
                _put(tree, f"DEBIAN/{name}", text, 0o755)
            for path, content in self.files.items():
                _put(tree, path, content, 0o755 if Path(path).parent.name in ("bin", "sbin") else 0o644)
            command = ["dpkg-deb", "--build", "--root-owner-group", "-Zgzip", "-z1", str(tree)]
            subprocess.run([*command, str(directory / self.file_name)], check=True, stdout=subprocess.DEVNULL)


def text_of(name, **values):
    """A file of files/, with @NAME@ replaced by values."""
    text = (FILES / name).read_text()
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def _put(tree, path, content, mode):
    target = tree / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, Path):
        target.symlink_to(content)
        return
    target.write_bytes(content if isinstance(content, bytes) else content.encode())
    target.chmod(mode)
