# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cards: does a deployment fit one host, and do all of them fit the site?"""

from __future__ import annotations

import math

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _plan, _profiles, _schema
from ansible_collections.inferops.gpustack.plugins.plugin_utils._findings import counted, error
from ansible_collections.inferops.gpustack.plugins.plugin_utils._site import listed, option

# What multiplies the cards of one instance, with vLLM's short forms.
_FACTORS = {
    "tensor-parallel-size": ("tensor-parallel-size", "tp"),
    "data-parallel-size": ("data-parallel-size", "dp"),
    "pipeline-parallel-size": ("pipeline-parallel-size", "pp"),
}
_SHARE = "gpu-memory-utilization"
_DEFAULT_SHARE = 0.9
_SOURCE = "GPUStack 2.3.0: every instance claims its gpu-memory-utilization of each card it uses"


def check(site):
    cards = _cards(site)
    placed = {}
    for where, model, entry in site.deployments():
        hosts = cards.get(entry["accelerator"]) if _can_be_planned(model, entry) else None
        if not hosts:
            continue
        settings = _settings(model, entry)
        yield from _wrong_share(settings, where)
        factors = {name: _factor(settings, names) for name, names in _FACTORS.items()}
        needed = math.prod(factors.values())
        largest = max(hosts, key=hosts.get)
        if needed > hosts[largest]:
            yield _exceeded(where, factors, needed, entry["accelerator"], largest, hosts[largest])
        else:
            instances = _instances(entry.get("replicas"), len(hosts))
            name = _plan.deployment_name(model.get("name"), entry["accelerator"])
            if instances:
                placed.setdefault(entry["accelerator"], []).append((name, needed, instances, _share(settings)))
    for accelerator, deployments in placed.items():
        undeclared = sum(_declared(site, host, accelerator) for host in site.may_have(accelerator))
        yield from _short(accelerator, deployments, cards[accelerator], undeclared)


def _cards(site):
    """Accelerator to its worker hosts and the cards each has. Empty while a declaration cannot be read."""
    if site.accelerator_hosts() is None:
        return {}
    cards = {}
    for host in site.workers:
        accelerator = site.text(host, "gpustack_accelerator")
        if accelerator in _profiles.accelerators():
            cards.setdefault(accelerator, {})[host] = _declared(site, host, accelerator)
    return cards


def _declared(site, host, accelerator):
    count = site.hosts[host].get("gpustack_accelerator_count")
    if count is not None and _schema.fits(count, option("gpustack_accelerator_count")):
        return count
    return _profiles.accelerator(accelerator)["cards_per_host"]


def _can_be_planned(model, entry):
    """Whatever keeps a deployment from being planned has its own finding."""
    return (
        isinstance(entry.get("accelerator"), str)
        and _profiles.has_pair(model.get("family"), entry["accelerator"])
        and isinstance(entry.get("args") or {}, dict)
        and isinstance(model.get("dspark_options") or {}, dict)
    )


def _settings(model, entry):
    pair = _profiles.pair(model["family"], entry["accelerator"])
    return {flag: value for flag, value, unused in _plan.arguments(model, entry, pair)}


def _factor(settings, names):
    for value in (settings[name] for name in reversed(names) if name in settings):
        digits = str(value).lstrip("0")
        if digits.isdecimal():
            # Far more than any site has, and Python refuses to read thousands of digits.
            return int(digits[:9])
    return 1


def _share(settings):
    share = _as_share(settings.get(_SHARE, _DEFAULT_SHARE))
    return _DEFAULT_SHARE if share is None else share


def _as_share(value):
    try:
        share = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return share if 0 < share <= 1 else None


def _wrong_share(settings, where):
    value = settings.get(_SHARE)
    if value is not None and _as_share(value) is None:
        yield error(
            "key_value",
            f"{where}.args.{_SHARE}",
            _schema.describe(value, secret=not isinstance(value, (int, float))),
            "a number above 0 and up to 1",
            "write the share of each card's memory, for example 0.9",
        )


def _instances(replicas, hosts):
    if replicas == "per_worker":
        return hosts
    if replicas is None:
        return 1
    return replicas if _schema.fits(replicas, option("gpustack_models.deployments.replicas")) else 0


def _exceeded(where, factors, needed, accelerator, host, there):
    used = {name: factor for name, factor in factors.items() if factor > 1}
    product = " x ".join(f"{name} {factor}" for name, factor in used.items())
    return error(
        "cards_exceeded",
        where,
        f"{product}, so one instance needs {needed} cards",
        f"at most {there}, the cards of {host}, the largest {accelerator} host",
        "lower the sizes in args, or set gpustack_accelerator_count if a host has more cards",
    )


def _short(accelerator, deployments, hosts, undeclared):
    """`undeclared`: cards of hosts whose accelerator is not known yet. They have a finding of their own."""
    there = sum(hosts.values())
    # Two claims of more than half a card cannot share it; smaller ones may, as far as the sum goes.
    alone = sum(cards * instances for unused, cards, instances, share in deployments if share > 0.5)
    together = sum(cards * instances * share for unused, cards, instances, share in deployments)
    if max(alone, together) <= there + undeclared:
        return
    terms = [
        f"{name}: {instances} x {counted(cards, 'card')}, {share:g} of each"
        for name, cards, instances, share in deployments
    ]
    needed = alone if alone > there else math.ceil(together)
    yield error(
        "cards_short",
        f"deployments on {accelerator}: {listed(name for name, *unused in deployments)}",
        f"{needed} cards needed ({'; '.join(terms)})",
        f"at most {there}, the cards of {listed(hosts)}",
        "lower replicas or the sizes in args, take a deployment out, or add hosts",
        _SOURCE,
    )
