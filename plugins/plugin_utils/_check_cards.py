# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cards: does a deployment fit one host, and do all of them fit the site?"""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _placing, _schema, _site_plan
from ansible_collections.inferops.gpustack.plugins.plugin_utils._arguments import identity, number
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import counted, error
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import listed

_SHARE = "gpu-memory-utilization"
# What GPUStack claims where nothing is said.
_DEFAULT_SHARE = 0.9
_SOURCE = "GPUStack 2.3.0: every instance claims its gpu-memory-utilization of each card it uses"


def check(site):
    cards = _cards(site)
    wanted, baselines = {}, set()
    for each in _site_plan.of_site(site):
        accelerator = each.plan["accelerator"]
        hosts = cards.get(accelerator)
        if not hosts:
            continue
        share = _share_of(each.plan)
        if not each.plan["baseline"]:
            yield from _wrong_share(share, each.where)
        needed = each.plan["devices_per_instance"]
        largest = max(hosts, key=hosts.get)
        if needed <= hosts[largest]:
            instance = _placing.Wanted(
                each.plan["name"], needed, _as_share(share) or _DEFAULT_SHARE, each.plan["replicas"]
            )
            wanted.setdefault(accelerator, []).append(instance)
            baselines.update([accelerator] if each.plan["baseline"] else ())
        elif not each.plan["baseline"]:
            yield _exceeded(each, largest, hosts[largest])
    for accelerator, deployments in wanted.items():
        # Hosts whose accelerator is not known yet may have it; they have a finding of their own.
        unsure = {host: site.cards_of(host, accelerator) for host in site.may_have(accelerator)}
        yield from _short(accelerator, deployments, cards[accelerator], unsure, accelerator in baselines)


def _cards(site):
    """Accelerator to its worker hosts and the cards each has. Empty while a declaration cannot be read."""
    if site.accelerator_hosts() is None:
        return {}
    cards = {}
    for host in site.workers:
        accelerator = site.text(host, "gpustack_accelerator")
        if accelerator in site.profiles.accelerators():
            cards.setdefault(accelerator, {})[host] = site.cards_of(host)
    return cards


def _share_of(plan):
    settings = (each for each in plan["values"] if each["kind"] == "argument" and identity(each["name"]) == _SHARE)
    return next((each["value"] for each in settings), None)


def _as_share(value):
    share = number(value)
    return share if share is not None and 0 < share <= 1 else None


def _wrong_share(value, where):
    if value is not None and _as_share(value) is None:
        yield error(
            "key_value",
            f"{where}.args.{_SHARE}",
            _schema.describe(value, secret=not isinstance(value, (int, float))),
            "a number above 0 and up to 1",
            "write the share of each card's memory, for example 0.9",
        )


def _exceeded(each, host, there):
    used = {name: factor for name, factor in each.plan["parallel"].items() if factor > 1}
    product = " x ".join(f"{name} {factor}" for name, factor in used.items())
    needed, accelerator = each.plan["devices_per_instance"], each.plan["accelerator"]
    return error(
        "cards_exceeded",
        each.where,
        f"{product}, so one instance needs {needed} cards, {needed - there} more than a host has",
        f"at most {there}, the cards of {host}, the largest {accelerator} host",
        "lower the sizes in args, or set gpustack_accelerator_count if a host has more cards",
    )


def _short(accelerator, deployments, hosts, unsure, with_baseline):
    left_over = _placing.left_over(deployments, {**hosts, **unsure})
    if not left_over:
        return
    terms = [
        f"{each.name}: {each.instances} x {counted(each.cards, 'card')}, {each.share:g} of each" for each in deployments
    ]
    missing = sum(each.cards * count for each, count in left_over)
    names = [f"{counted(count, 'instance')} of {each.name}" for each, count in left_over]
    fix = "lower replicas or the sizes in args, take a deployment out, or add hosts"
    if with_baseline:
        fix += "; dspark_baseline is a second deployment with cards of its own"
    yield error(
        "cards_short",
        f"deployments on {accelerator}: {listed(each.name for each in deployments)}",
        f"{counted(missing, 'card')} missing, there is no place for {listed(names)}: {'; '.join(terms)}",
        f"what fits on the {counted(sum(hosts.values()), 'card')} of {listed(hosts)}",
        fix,
        _SOURCE,
    )
