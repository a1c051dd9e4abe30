# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Will what is planned start, and do what its model asks for? The rules are in data/rules.yml."""

from __future__ import annotations

from ansible_collections.inferops.gpustack.plugins.plugin_utils import _plan, _rule_facts, _rules, _site_plan


def check(site):
    planned = _site_plan.of_site(site)
    hosts = {}
    for host in _site_plan.hosts(site):
        hosts.setdefault(host["accelerator"], []).append(host)
    for each in planned:
        facts = _rule_facts.of_deployment(
            each.plan, each.model, each.entry, site.profiles, hosts.get(each.plan["accelerator"], [])
        )
        # The second deployment differs in DSpark only: what it shares with the first was said there.
        if not each.plan["baseline"]:
            yield from _rules.findings("deployment", facts, each.where)
    for name, where, members in _routes(planned):
        yield from _rules.findings("route", _rule_facts.of_route(name, members), where)


def _routes(planned):
    """(name, where, deployments) of every route with several deployments behind it."""
    routes = {}
    for each in planned:
        name = _plan.route_name(each.model["name"], each.plan["baseline"])
        where = each.where.rpartition(".deployments[")[0]
        routes.setdefault(name, (where, []))[1].append(each.plan)
    for name, (where, members) in routes.items():
        if len(members) > 1 and not members[0]["baseline"]:
            yield name, f"{where}.deployments", members
