# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the pages in docs/ that are made of the data preflight checks inventories with, so that the two cannot differ.

Run it with the Python of the virtual environment. With --check it writes nothing and exits 1 when a page is out of
date.
"""

from __future__ import annotations

import argparse
import sys

from pages import findings, inventory, schema, support
from pages.source import COMMAND, ROOT

DOCS = ROOT / "docs"
PAGES = {
    "findings.md": findings.render,
    "inventory.md": inventory.render,
    "inventory.schema.json": schema.render,
    "support.md": support.render,
}


def main(arguments=None, docs=DOCS):
    parser = argparse.ArgumentParser(description="Write the pages in docs/ that are made of the data preflight uses.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is out of date")
    options = parser.parse_args(arguments)
    stale = []
    for name, render in PAGES.items():
        page, text = docs / name, render()
        if page.exists() and page.read_text(encoding="utf-8") == text:
            continue
        if options.check:
            stale.append(name)
        else:
            page.write_text(text, encoding="utf-8")
    if stale:
        print(f"Out of date in docs/: {', '.join(stale)}. Run {COMMAND} and commit the result.", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
