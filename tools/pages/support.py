# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/support.md: what was tried, and how."""

from __future__ import annotations

from pages.source import GENERATED, catalogue, read, table

STATUS = {"host": "tested on a host", "plan": "tested by plan", "no": "not supported"}
INTRODUCTION = f"""\
{GENERATED}
# What is supported

- *{STATUS["host"]}*: the lab's hosts run it; the end-to-end tests use it.
- *{STATUS["plan"]}*: the decisions about it are tested: profile, command line, checks. The thing itself was not there.
- *{STATUS["no"]}*: the note says what happens.

Accelerators are simulated in the lab, so none is ever *{STATUS["host"]}* here: what the
[lab](../lab/README.md) proves is everything around them.
"""


def accelerators():
    return [
        (
            f"`{name}`",
            card["name"],
            f"{card['memory_bytes'] // 2**30} GiB",
            card["cards_per_host"],
            STATUS["plan"],
        )
        for name, card in catalogue("accelerators").items()
    ]


def image(key):
    known = read("artefacts.yml")["images"][key]
    return f"{known['repository']}:{known['tag'].format(version=known.get('version'))}"


def image_of(family, card, pair):
    """The image of the highest layer that names one."""
    platform = catalogue("platforms")[card["platform"]]
    on_platform = family.get("platforms", {}).get(card["platform"], {})
    layers = (pair, on_platform, family, card, platform)
    return next(layer["image"] for layer in layers if layer.get("image"))


def fit(name, family, accelerator, card, pairs):
    """Status and note of a family on an accelerator."""
    pair = pairs.get(f"{name}__{accelerator}")
    capability, wanted = card["compute_capability"], family.get("compute_capabilities")
    if card["platform"] not in family["formats"]:
        return STATUS["no"], f"nothing is known of it on {card['platform']}"
    if capability and wanted and int(capability.split(".")[0]) not in wanted["majors"]:
        return STATUS[
            "no"
        ], f"compute capability {capability}; stock engines need {', '.join(map(str, wanted['majors']))}"
    if family["needs_pair"] and not pair:
        return STATUS["no"], "no launch profile yet"
    return STATUS["plan"], f"`{image(image_of(family, card, pair or {}))}`"


def families():
    pairs = catalogue("pairs")
    return [
        (f"`{name}`", f"`{accelerator}`", *fit(name, family, accelerator, card, pairs))
        for name, family in catalogue("families").items()
        for accelerator, card in catalogue("accelerators").items()
    ]


def controller(support):
    core, python, target = support["ansible_core"], support["controller_python"], support["target_python"]
    return [
        ("ansible-core on the controller", " to ".join(core["tested"]), core["how"]),
        ("Python on the controller", " to ".join(python["tested"]), python["how"]),
        ("Python on the hosts", f"{target['minimum']} and later", target["how"]),
    ]


def render():
    support = read("support.yml")
    sections = [
        INTRODUCTION.rstrip(),
        "## Software\n\n" + table(("what", "releases", "note"), controller(support)),
        "## Hosts\n\n"
        + table(
            ("what", "status", "note"),
            [(row["what"], STATUS[row["status"]], row["note"]) for row in support["rows"]],
        ),
        "## Accelerators\n\n" + table(("profile", "card", "memory", "cards in a host", "status"), accelerators()),
        "## Models\n\n" + table(("family", "accelerator", "status", "note"), families()),
    ]
    return "\n\n".join(sections) + "\n"
