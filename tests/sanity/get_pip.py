"""Stands in for get-pip.py, which ansible-test would fetch from a host of its own: Python's bundled pip, then PyPI.

ansible-test runs it with the packages wanted (`pip==24.2`) and options of pip as arguments.
"""

from __future__ import annotations

import subprocess
import sys

subprocess.run([sys.executable, "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)
packages = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *packages], check=True)
