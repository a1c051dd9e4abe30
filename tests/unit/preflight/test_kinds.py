"""One broken inventory for each kind of finding. The sound one they all start from has no finding at all."""

from __future__ import annotations

import ast
import copy
import dataclasses
import hashlib
import json
import pathlib
import re
import time

import pytest
from ansible_collections.inferops.gpustack.plugins.plugin_utils import _data, _findings, _kinds
from ansible_collections.inferops.gpustack.plugins.plugin_utils._preflight import check

DIGEST = "sha256:" + "0a" * 32
PASSWORD = "Corr3ct.horse"
H20, ASCEND = "nvidia_h20_3e", "ascend_910b"


def sound():
    common = {
        "gpustack_version": "2.3.0",
        "gpustack_server_url": "http://10.0.0.10",
        "gpustack_admin_password": PASSWORD,
        "gpustack_artefacts_lock": {
            "docker.io/gpustack/gpustack:v2.3.0": DIGEST,
            "docker.io/gpustack/runtime:pause": DIGEST,
            "docker.io/gpustack/runtime:health": DIGEST,
            "docker.io/vllm/vllm-openai:v0.25.0": DIGEST,
            "quay.io/ascend/vllm-ascend:nightly-main": DIGEST,
        },
        "gpustack_registry_rewrites": {"docker.io": "10.0.0.5:5000/docker.io"},
        "gpustack_models": [
            {
                "name": "flash",
                "family": "deepseek_v4",
                "dspark": True,
                "dspark_options": {"tokens": 7, "sampling": "greedy"},
                "route": {"weights": {H20: 3, ASCEND: 1}},
                "deployments": [
                    {"accelerator": H20, "path": "/srv/models/a", "replicas": "per_worker", "args": {"seed": 1}},
                    {"accelerator": ASCEND, "path": "/srv/models/b", "max_model_len": 300000, "env": {"A": 1}},
                ],
            }
        ],
    }
    hosts = {
        "server": dict(common, ansible_host="10.0.0.10"),
        "h20": dict(common, gpustack_worker_address="10.0.0.21", gpustack_accelerator=H20),
        "npu": dict(common, gpustack_worker_address="10.0.0.31", gpustack_accelerator=ASCEND),
    }
    groups = {"all": list(hosts), "gpustack_server": ["server"], "gpustack_worker": ["h20", "npu"]}
    # Apart for each test, and each host with values of its own.
    return copy.deepcopy({"groups": groups, "hosts": json.loads(json.dumps(hosts))})


def everywhere(name, value):
    def change(inventory):
        for values in inventory["hosts"].values():
            values[name] = value

    return change


def on(host, name, value):
    return lambda inventory: inventory["hosts"][host].update({name: value})


def without(host, name):
    return lambda inventory: inventory["hosts"][host].pop(name)


def nowhere(name):
    return lambda inventory: [values.pop(name) for values in inventory["hosts"].values()]


def group(name, hosts):
    return lambda inventory: inventory["groups"].update({name: hosts})


def model(**changes):
    def change(inventory):
        for values in inventory["hosts"].values():
            values["gpustack_models"][0].update(changes)

    return change


def deployment(index=0, **changes):
    def change(inventory):
        for values in inventory["hosts"].values():
            values["gpustack_models"][0]["deployments"][index].update(changes)

    return change


def lock(name, digest):
    def change(inventory):
        for values in inventory["hosts"].values():
            values["gpustack_artefacts_lock"][name] = digest

    return change


def unlock(name):
    return lambda inventory: [v["gpustack_artefacts_lock"].pop(name) for v in inventory["hosts"].values()]


def both_weights(first, second):
    return model(route={"weights": {H20: first, ASCEND: second}})


def second_model(inventory):
    for values in inventory["hosts"].values():
        values["gpustack_models"].append({"name": "flash", "family": "deepseek_v4", "deployments": []})


def named_like_a_baseline(inventory):
    model(dspark_baseline=True)(inventory)
    for values in inventory["hosts"].values():
        values["gpustack_models"].append({**values["gpustack_models"][0], "name": "flash-plain", "dspark": False})


def deployment_again(inventory):
    for values in inventory["hosts"].values():
        values["gpustack_models"][0]["deployments"].append({"accelerator": H20, "path": "/srv/models/c"})


def one_deployment_less(inventory):
    for values in inventory["hosts"].values():
        del values["gpustack_models"][0]["deployments"][1]


def worker_config(**config):
    return on("h20", "gpustack_worker_config", config)


def one_host(inventory):
    """Server and worker on one host, which is legal."""
    inventory["hosts"] = {"one": dict(inventory["hosts"]["h20"])}
    inventory["groups"] = {"all": ["one"], "gpustack_server": ["one"], "gpustack_worker": ["one"]}
    one_deployment_less(inventory)
    model(route=None)(inventory)


def on_one_host(**values):
    def change(inventory):
        one_host(inventory)
        inventory["hosts"]["one"].update(values)

    return change


def workstation(inventory):
    inventory["hosts"]["h20"]["gpustack_accelerator"] = "nvidia_rtx_4090"
    deployment(accelerator="nvidia_rtx_4090")(inventory)
    model(route=None)(inventory)


def third_deployment(inventory):
    """Two models want all cards of the H20 host."""
    for values in inventory["hosts"].values():
        entry = {"accelerator": H20, "path": "/srv/models/a"}
        values["gpustack_models"].append({"name": "second", "family": "deepseek_v4", "deployments": [entry]})


def accept(*ids, reason="a test site"):
    return everywhere("gpustack_accept", [{"id": id, "reason": reason} for id in ids])


def unreadable(reason):
    return lambda inventory: inventory.update(unreadable={"npu": {"gpustack_cluster_name": reason}})


CHECKS = pathlib.Path(__file__).parents[3] / "plugins" / "plugin_utils"
CATALOGUE = _data.load("findings.yml")
# Those about the plan are in a table: tests/unit/plan/test_bad_plans.py tests it.
EVERY_KIND = _kinds.kinds()
KINDS = [
    # servers and workers
    ("group_clash", group("gpustack_worker_windows", ["h20"])),
    ("group_clash", group("gpustack_worker_windows", ["server"])),
    ("server_missing", group("gpustack_server", [])),
    ("server_several", group("gpustack_server", ["server", "h20"])),
    ("accelerator_missing", without("h20", "gpustack_accelerator")),
    ("accelerator_unknown", on("h20", "gpustack_accelerator", "nvidia_h20_3")),
    ("worker_address_missing", without("h20", "gpustack_worker_address")),
    ("worker_address_missing", on("h20", "gpustack_worker_address", " ")),
    ("worker_address_not_ip", on("h20", "gpustack_worker_address", "h20.example.org")),
    ("worker_address_public", on("h20", "gpustack_worker_address", "8.8.8.8")),
    ("worker_address_duplicate", on("h20", "gpustack_worker_address", "10.0.0.31")),
    ("worker_group_misnamed", lambda i: i["groups"].update(gpustack_worker=[], gpustack_workers=["h20"])),
    ("worker_name_duplicate", on("h20", "gpustack_worker_name", "npu")),
    # `|` in YAML leaves a line break at the end
    ("variable_value", on("h20", "gpustack_worker_name", "h20\n")),
    ("variable_value", everywhere("gpustack_cluster_name", "prod\n")),
    ("key_value", everywhere("gpustack_insecure_registries", ["10.0.0.5:5000\n"])),
    ("key_value", deployment(engine_version="0.25.0\n")),
    ("worker_address_not_ip", on("h20", "gpustack_worker_address", "10.0.0.21\n")),
    ("server_url_invalid", everywhere("gpustack_server_url", "http://10.0.0.10\n")),
    ("model_name_invalid", model(name="flash\n")),
    ("argument_name_invalid", deployment(args={"seed\n": 1})),
    ("env_name_invalid", deployment(env={"A\n": 1})),
    ("lock_digest_invalid", lock("docker.io/a/b:c", DIGEST + "\n")),
    ("rewrite_invalid", everywhere("gpustack_registry_rewrites", {"docker.io\n": "10.0.0.5:5000"})),
    ("rewrite_invalid", everywhere("gpustack_registry_rewrites", {"docker.io": "10.0.0.5:5000\n"})),
    # a value of the site on some of its hosts
    ("site_value_differs", without("h20", "gpustack_models")),
    ("site_value_differs", without("server", "gpustack_admin_password")),
    ("site_value_differs", on("npu", "gpustack_server_tls_port", 443)),
    ("site_value_differs", on("npu", "gpustack_accept", [])),
    # options of roles
    ("variable_type", everywhere("verify_timeout", "soon")),
    ("variable_type", on("h20", "gpustack_worker_ready_timeout", [60])),
    ("worker_config_reserved", on("h20", "gpustack_worker_config", {"token": "x"})),
    ("worker_address_unreachable", on("h20", "gpustack_worker_address", "127.0.0.1")),
    *[
        ("worker_address_unreachable", on("h20", "gpustack_worker_address", address))
        for address in (
            *("0.0.0.0", "255.255.255.255", "240.0.0.1", "169.254.1.1", "224.0.0.1", "::", "::1", "ff02::1"),
            *("::ffff:127.0.0.1", "::ffff:169.254.1.1", "fe80::1", "fe80::1%eth0"),
        )
    ],
    ("worker_address_duplicate", on("h20", "gpustack_worker_address", "10.0.0.10")),
    ("worker_address_duplicate", on("h20", "gpustack_worker_address", "::ffff:10.0.0.31")),
    ("worker_address_unreachable", on_one_host(gpustack_worker_address="127.0.0.1")),
    # cards
    *[
        ("cards_exceeded", deployment(args=args))
        for args in (
            {"tensor-parallel-size": 16},
            {"--tensor_parallel_size": "16"},
            {"-tp": 16},
            {"data-parallel-size": 2},
            {"pipeline_parallel_size": 2},
            {"tensor-parallel-size": 3, "dp": 3},
        )
    ],
    ("cards_exceeded", on("h20", "gpustack_accelerator_count", 4)),
    ("cards_exceeded", deployment(args={"tensor-parallel-size": "9" * 5000})),
    ("cards_exceeded", deployment(args={"tp": 10**400})),
    ("key_value", deployment(replicas=10**400)),
    ("key_value", both_weights(10**400, 1)),
    *[
        ("key_value", deployment(args={"gpu-memory-utilization": share}))
        for share in (10**400, 0, 1.1, "most", float("nan"), [0.9])
    ],
    ("variable_value", on("h20", "gpustack_accelerator_count", 10**400)),
    ("cards_short", third_deployment),
    ("cards_short", deployment(replicas=2)),
    ("cards_short", deployment(replicas=3, args={"gpu-memory-utilization": 0.4})),
    # ports
    ("port_overlap", worker_config(worker_port=10151)),
    ("port_overlap", worker_config(service_port_range="40000-41000")),
    ("port_overlap", worker_config(ray_port_range="10000-10150")),
    ("port_overlap", on_one_host(gpustack_worker_config={"worker_port": 80})),
    ("port_overlap", on_one_host(gpustack_server_port=40063, gpustack_server_url="http://10.0.0.21:40063")),
    ("port_overlap", on_one_host(gpustack_worker_config={"worker_port": 443}, gpustack_tls_certificate="/a/b")),
    *[("port_range_invalid", worker_config(worker_port=port)) for port in ("10150", 0, 65536, True, [1])],
    *[
        ("port_range_invalid", worker_config(service_port_range=span))
        for span in ("40000", 40000, "40000-", "40063-40000", "0-1", "65000-65536", "40000 - 40063", {"a": 1})
    ],
    ("port_range_invalid", worker_config(ray_port_range="41000-41018")),
    # proxies
    ("no_proxy_cidr", deployment(env={"NO_PROXY": "localhost,10.0.0.0/8"})),
    ("no_proxy_cidr", deployment(env={"no_proxy": "10.0.0.10 fd00::/8"})),
    ("server_url_missing", nowhere("gpustack_server_url")),
    ("server_url_missing", without("npu", "gpustack_server_url")),
    ("server_url_invalid", everywhere("gpustack_server_url", "10.0.0.10")),
    ("server_url_invalid", everywhere("gpustack_server_url", "ftp://10.0.0.10")),
    ("server_url_invalid", everywhere("gpustack_server_url", "http://10.0.0.10:99999")),
    ("server_url_invalid", everywhere("gpustack_server_url", "http://10.0.0.10/v1")),
    ("server_url_invalid", everywhere("gpustack_server_url", "http://admin:x@10.0.0.10")),
    *[
        ("server_url_invalid", everywhere("gpustack_server_url", f"http://{address}"))
        for address in (
            *("10.0.0.300", "10.0.0", "10.0.0.10:0", "224.0.0.1", "255.255.255.255", "169.254.0.1", "[fe80::1]"),
            *("@10.0.0.10", "10.0.0.10/@"),
        )
    ],
    ("server_url_localhost", everywhere("gpustack_server_url", "http://localhost")),
    ("server_url_localhost", everywhere("gpustack_server_url", "http://0.0.0.0")),
    ("server_url_localhost", everywhere("gpustack_server_url", "http://127.0.0.1")),
    ("server_url_port", everywhere("gpustack_server_port", 8080)),
    # the password
    ("admin_password_missing", nowhere("gpustack_admin_password")),
    ("admin_password_missing", everywhere("gpustack_admin_password", "")),
    *[
        ("admin_password_placeholder", everywhere("gpustack_admin_password", value))
        for value in (
            *("changeme", "Change_Me1!", "Change-Me.1", "password", "admin", "gpustack", "example", "<your password>"),
            *("xxx", "123456", "Passw0rd!", "P@ssw0rd1", "Password.123", "vault_gpustack_admin_password"),
            *("gpustack_admin_password", "$GPUSTACK_PASSWORD", "${GPUSTACK_PASSWORD}", "**********"),
        )
    ],
    *[
        ("admin_password_weak", everywhere("gpustack_admin_password", value))
        for value in ("Sh0rt.one", "n0.upper.case", "N0.LOWER.CASE", "No.digit.here", "N0symbolatall", PASSWORD + "\n")
    ],
    # names and types
    ("variable_unknown", everywhere("gpustack_server_ur", "x")),
    ("role_option_unknown", everywhere("verify_backups", True)),
    ("variable_type", everywhere("gpustack_server_port", "80")),
    ("variable_type", everywhere("gpustack_models", {})),
    *[
        ("variable_value", everywhere(name, value))
        for name, value in (
            ("gpustack_version", "v2.3.0"),
            ("gpustack_server_port", 0),
            ("gpustack_server_port", 65536),
            ("gpustack_wait_timeout", 0),
            ("gpustack_cluster_name", " "),
            ("gpustack_data_dir", "data"),
            ("gpustack_data_dir", "/data/"),
            ("gpustack_worker_name", "a b"),
        )
    ],
    ("key_value", everywhere("gpustack_insecure_registries", ["http://10.0.0.5:5000"])),
    ("key_value", everywhere("gpustack_insecure_registries", ["10.0.0.5:5000/docker.io"])),
    ("key_value", deployment(engine_version="v0.25.0")),
    ("key_missing", model(deployments=[])),
    ("boolean_as_string", everywhere("gpustack_allow_public_addresses", "yes")),
    ("boolean_as_string", model(dspark="true")),
    ("value_unreadable", unreadable("'x' is undefined")),
    ("site_value_differs", on("npu", "gpustack_version", "2.2.3")),
    ("gpustack_version_unsupported", everywhere("gpustack_version", "2.2.3")),
    *[
        ("knob_invented", everywhere(name, "x"))
        for name in (
            "gpustack_auto_compile",
            "gpustack_dspark_strict_json",
            "gpustack_dspark",
            "gpustack_max_concurrency",
        )
    ],
    *[
        ("knob_invented", model(**{name: "x"}))
        for name in (
            "auto_compile",
            "per_request",
            "strict_json",
            "vram_reserve_mb",
            "dspark",
            "config",
            "max-concurrent",
        )
    ],
    ("knob_invented", model(dspark={"enabled": True})),
    ("key_type", model(dspark=1)),
    *[("key_type", model(vram_claim_gib=number)) for number in (float("nan"), float("inf"))],
    *[
        ("key_value", deployment(args={flag: size}))
        for flag, size in (("tensor-parallel-size", 0), ("--tensor_parallel_size", "abc"), ("pp", 8.0), ("dp", True))
    ],
    ("knob_invented", model(dspark_options={"tokens": 7, "schema_cache_size": 1})),
    ("knob_invented", model(dspark_options={"tokens": 7, "prompt_guided": True})),
    ("knob_invented", deployment(vram_reserve_mb=1024)),
    ("knob_invented", deployment(dspark=True)),
    ("knob_invented", deployment(args={"--max-concurrency": 4})),
    ("knob_invented", deployment(env={"DSPARK_AUTO_COMPILE": "1"})),
    # what the site accepts
    ("accept_unknown", accept("image_unlock")),
    ("accept_refused", accept("server_missing")),
    ("accept_unused", accept("image_unlocked")),
    ("accept_twice", accept("image_unlocked", "image_unlocked")),
    ("accept_many_unused", accept("image_unlocked", "cards_short", "no_proxy_cidr", "server_url_port")),
    ("key_missing", everywhere("gpustack_accept", [{"id": "image_unlocked"}])),
    *[
        ("key_value", accept("image_unlocked", reason=reason))
        for reason in (" ", "ok", "1234567890", "a" + " " * 20, "..........", "1 2 3 4 5 a")
    ],
    ("key_unknown", model(dspak=True)),
    ("key_unknown", deployment(replica=2)),
    ("key_missing", model(name=None)),
    ("key_missing", deployment(path=None)),
    ("key_type", deployment(path=["/srv"])),
    ("key_type", deployment(replicas="all")),
    ("key_value", deployment(replicas=-1)),
    ("key_value", model(dspark_options={"sampling": "random"})),
    ("key_value", both_weights(-1, 1)),
    # models
    ("model_duplicate", second_model),
    ("model_name_taken", named_like_a_baseline),
    ("model_name_invalid", model(name="my model")),
    ("family_unknown", model(family="deepseek_v5")),
    ("deployment_duplicate", deployment_again),
    ("family_unsupported_on_accelerator", workstation),
    ("deployment_without_host", group("gpustack_worker", ["h20"])),
    ("accelerator_unknown", deployment(accelerator="nvidia_h2000")),
    ("profile_incomplete", everywhere("gpustack_profiles", {"accelerators": {"ours": {"name": "Ours"}}})),
    ("profile_incomplete", everywhere("gpustack_profiles", {"families": {"ours": {"model_types": ["ours"]}}})),
    *[
        ("profile_incomplete", everywhere("gpustack_profiles", {"accelerators": {H20: {key: None}}}))
        for key in ("platform", "cards_per_host", "container")
    ],
    ("profile_incomplete", everywhere("gpustack_profiles", {"families": {"deepseek_v4": {"formats": None}}})),
    ("profile_vendor_differs", everywhere("gpustack_profiles", {"accelerators": {H20: {"vendor": "ascend"}}})),
    ("profile_vendor_differs", everywhere("gpustack_profiles", {"accelerators": {H20: {"device_type": "cann"}}})),
    *[
        (kind, everywhere("gpustack_profiles", {"families": {"deepseek_v4": layer}}))
        for kind, layer in (
            ("argument_name_invalid", {"arguments": {"max len": 1}}),
            ("argument_twice", {"arguments": {"async-scheduling": True, "no_async_scheduling": True}}),
            ("argument_unsafe", {"platforms": {"cuda": {"arguments": {"chat-template": "it's"}}}}),
            ("argument_reserved", {"arguments": {"served_model_name": "x"}}),
            ("key_value", {"arguments": {"tensor-parallel-size": 0}}),
            ("key_type", {"arguments": {3: 1}}),
            ("key_type", {"sources": {"formats": ["x"]}}),
            ("knob_invented", {"env": {"DSPARK_AUTO_COMPILE": "1"}}),
            ("env_name_invalid", {"env": {"A B": "1"}}),
            ("env_value", {"env": {"A": True}}),
            ("key_value", {"formats": {"cuda": ["fp9"]}}),
            ("key_value", {"layouts": ["fuse"]}),
            ("key_value", {"published": {"platforms": ["rocm"]}}),
            ("key_unknown", {"platforms": {"cude": {}}}),
            ("profile_image_unknown", {"platforms": {"cuda": {"image": "vllm"}}}),
        )
    ],
    *[
        ("key_value", everywhere("gpustack_profiles", {kind: {name: {}}}))
        for kind, name in (("accelerators", "Nvidia-L20"), ("families", "_ours"), ("accelerators", "a__b"))
    ],
    ("profile_pair_unknown", everywhere("gpustack_profiles", {"pairs": {"deepseek_v4": {}}})),
    ("profile_image_unknown", everywhere("gpustack_profiles", {"accelerators": {H20: {"image": "gpustack"}}})),
    ("image_invalid", everywhere("gpustack_engine_images", {"a b": {}})),
    ("key_type", everywhere("gpustack_profiles", {"accelerators": {H20: {"arguments": ["x"]}}})),
    ("key_unknown", everywhere("gpustack_profiles", {"accelerators": {H20: {"argument": {}}}})),
    ("model_path_relative", deployment(path="models/a")),
    ("model_path_relative", deployment(path="C:\\models")),
    ("model_path_relative", deployment(draft_path="draft")),
    *[("model_path_spaces", deployment(path=f"/srv/my{character}models")) for character in " \t\"'$`\\"],
    ("model_path_windows", deployment(path="/mnt/c/models")),
    *[("model_path_form", deployment(path=path)) for path in ("/srv/m/a/", "/srv//a", "/srv/../a/b", "/srv/a:b")],
    *[("model_path_system", deployment(path=path)) for path in ("/", "/a", "/tmp/a", "/opt/a", "/var/lib/a")],
    *[
        ("model_path_system", deployment(path=f"{tree}/models/deepseek/a"))
        for tree in (
            *("/etc", "/usr", "/usr/local/Ascend", "/proc", "/sys", "/dev", "/run", "/lib64"),
            *("/var/lib/docker", "/var/lib/gpustack"),
        )
    ],
    *[("argument_name_invalid", deployment(args={flag: 1})) for flag in ("", "--", "max len", "seed=1", 3)],
    *[("env_name_invalid", deployment(env={name: "1"})) for name in ("", "A B", "A=B", 3)],
    ("sampling_unsupported", model(dspark_options={"sampling": "probabilistic"})),
    ("argument_reserved", deployment(args={"--api_key": "x"})),
    ("argument_twice", deployment(max_model_len=1, args={"max-model-len": 2})),
    ("argument_twice", deployment(args={"async_scheduling": True, "no-async-scheduling": True})),
    ("argument_unsafe", deployment(args={"chat-template": "it's"})),
    ("argument_unsafe", deployment(args={"chat-template": "{a} b"})),
    ("env_ready_timeout", deployment(env={"VLLM_ENGINE_READY_TIMEOUT": 3600})),
    ("env_value", deployment(env={"A": True})),
    ("route_weight_without_deployment", one_deployment_less),
    ("route_weights_zero", both_weights(0, 0)),
    ("route_weights_mixed", both_weights(3, 0)),
    # images
    ("image_moving_unlocked", unlock("docker.io/gpustack/runtime:pause")),
    ("image_moving_unlocked", unlock("docker.io/gpustack/runtime:health")),
    ("image_moving_unlocked", unlock("quay.io/ascend/vllm-ascend:nightly-main")),
    ("image_moving_unlocked", deployment(image="vllm/vllm-openai:latest")),
    ("image_unlocked", unlock("docker.io/gpustack/gpustack:v2.3.0")),
    ("image_unlocked", deployment(engine_version="0.33.0")),
    ("image_invalid", deployment(image="http://docker.io/a")),
    ("image_invalid", deployment(image="registry.example.org/A/b:1")),
    ("image_invalid", deployment(image="a/b@sha256:zz")),
    ("lock_digest_invalid", lock("docker.io/a/b:1", "sha256:abc")),
    ("lock_digest_invalid", lock("docker.io/a/b:1", "0a" * 32)),
    ("lock_digest_invalid", lock("docker.io/a/b:1", 1)),
    *[
        ("lock_digest_fake", lock("docker.io/a/b:1", f"sha256:{text}"))
        for text in ("0" * 64, "a" * 64, "x" * 64, "...", "<digest>", "0123456789abcdef" * 4, "deadbeef" * 8)
    ],
    ("lock_digest_fake", lock("docker.io/a/b:1", f"sha256:{hashlib.sha256().hexdigest()}")),
    ("lock_digest_fake", deployment(image="a/b@sha256:" + "0" * 64)),
    ("lock_name_invalid", lock("a/b:1", DIGEST)),
    *[
        ("rewrite_invalid", everywhere("gpustack_registry_rewrites", rewrites))
        for rewrites in (
            {"docker.io": "http://r:5000"},
            {"docker.io": "r:5000/"},
            {"docker.io": "mirror/docker.io"},
            {"docker.io": "r:5000/Docker.io"},
            {"https://docker.io": "r:5000"},
            {"docker.io/vllm": "r:5000"},
            {"registry-1.docker.io": "r:5000"},
            {"quay": "r:5000"},
            {1: "r:5000"},
        )
    ],
]


def test_a_sound_inventory_has_no_findings():
    assert check(sound()) == []


@pytest.mark.parametrize(("kind", "break_it"), KINDS, ids=[f"{n}-{kind}" for n, (kind, unused) in enumerate(KINDS)])
def test_kind(kind, break_it):
    inventory = sound()
    break_it(inventory)
    findings = [finding for finding in check(inventory) if finding.id == kind]
    assert findings
    for finding in findings:
        assert finding.severity == EVERY_KIND[kind]["severity"]
        assert finding.where
        assert finding.expected
        assert finding.fix


@pytest.mark.parametrize(
    "change",
    [
        on("h20", "gpustack_worker_address", "fd00::21"),
        lambda inventory: inventory["hosts"]["h20"].update(
            gpustack_worker_address="8.8.8.8", gpustack_allow_public_addresses=True
        ),
        everywhere("gpustack_server_url", "http://10.0.0.10:80/"),
        everywhere("gpustack_server_url", "https://gpustack.example.org"),
        everywhere("gpustack_host", {"a fact": True}),
        deployment(image=f"vllm/vllm-openai@{DIGEST}", engine_version="0.25.0"),
        everywhere("gpustack_profiles", {"accelerators": {H20: {"env": {"A": 1}, "image": None}}}),
        deployment(args={"tensor-parallel-size": "8", "pp": 1}),
        deployment(args={"max-num-seqs": None, "limit-mm-per-prompt": {"image": 1}}),
        *[deployment(path=path) for path in ("/opt/models/a", "/usrlocal/a", "/home/ai/a", "/var/lib/models/a")],
        everywhere("gpustack_insecure_registries", ["10.0.0.5:5000", "registry", "10.0.0.0/8"]),
        *[
            everywhere("gpustack_registry_rewrites", {registry: "r:5000/a_b/c"})
            for registry in ("quay.io", "localhost:5000", "r:5000", "[fd00::1]:5000")
        ],
        lambda inventory: inventory.update(unreadable={"server": {"gpustack_worker_address": "'x' is undefined"}}),
        lambda inventory: inventory["groups"].update(gpustack_workers_h20=["h20"]),
        model(dspark=False, dspark_options={"sampling": "probabilistic"}),
        model(route=None),
        # Cards: hosts of one accelerator may differ, small shares may meet on one card, others are counted apart.
        on("h20", "gpustack_accelerator_count", 16),
        lambda inventory: [on("h20", "gpustack_accelerator_count", 16)(inventory), third_deployment(inventory)],
        deployment(replicas=2, args={"gpu-memory-utilization": 0.5}),
        deployment(replicas=2, args={"tensor-parallel-size": 4}),
        deployment(replicas=0),
        lambda inventory: [
            deployment(args={"tensor-parallel-size": None, "pipeline-parallel-size": 8})(inventory),
            model(dspark=False)(inventory),
        ],
        # Ports of one host; the server has a network of its own but for the ports it publishes.
        worker_config(worker_port=80),
        worker_config(worker_port=10151, worker_metrics_port=10152),
        worker_config(worker_port=10151, disable_worker_metrics=True),
        worker_config(service_port_range="40000-40000", ray_port_range="40001-40020"),
        on_one_host(gpustack_worker_config={"worker_port": 443}),
        deployment(env={"NO_PROXY": "localhost,127.0.0.1,10.0.0.21,.example.org", "PATHS": "10.0.0.0/8"}),
        # Real names that look like invented ones.
        deployment(env={"CONCURRENCY": "4", "CONFIG": "/srv/a"}),
        deployment(args={"config": "/srv/a.yml", "structured-outputs-config": {"backend": "xgrammar"}}),
        group("gpustack_worker_windows", ["ws"]),
    ],
)
def test_what_is_allowed(change):
    inventory = sound()
    change(inventory)
    assert check(inventory) == []


def test_one_host_for_everything_may_use_localhost():
    inventory = sound()
    on_one_host(gpustack_server_url="http://localhost")(inventory)
    assert check(inventory) == []


def test_a_site_without_workers_needs_no_runtime_images():
    inventory = sound()
    inventory["groups"]["gpustack_worker"] = []
    everywhere("gpustack_models", [])(inventory)
    everywhere("gpustack_artefacts_lock", {"docker.io/gpustack/gpustack:v2.3.0": DIGEST})(inventory)
    assert check(inventory) == []


def test_did_you_mean():
    inventory = sound()
    everywhere("gpustack_acelerator", "x")(inventory)
    deployment(max_modellen=1)(inventory)
    on("h20", "gpustack_accelerator", "nvidia_h20_3")(inventory)
    fixes = " ".join(finding.fix for finding in check(inventory))
    for name in ("gpustack_accelerator", "max_model_len", "nvidia_h20_3e"):
        assert f"did you mean {name}?" in fixes


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("verify_timeot", "verify_timeout"),
        ("image_prefetch_referencs", "image_prefetch_references"),
        ("gpustack_server_imag", "gpustack_server_image"),
    ],
)
def test_did_you_mean_knows_the_options_of_roles(written, meant):
    inventory = sound()
    everywhere(written, "x")(inventory)
    (finding,) = check(inventory)
    assert (finding.id, finding.severity) == ("variable_unknown", "error")
    assert finding.fix == f"did you mean {meant}?"


@pytest.mark.parametrize("name", ["gpustack_server_image", "gpustack_worker_ready_timeout", "verify_timeout"])
def test_an_inventory_may_set_options_of_roles(name):
    inventory = sound()
    everywhere(name, None)(inventory)
    assert check(inventory) == []


@pytest.mark.parametrize("value", ["60", 60, 60.0])
def test_the_option_of_a_role_may_be_what_ansible_converts(value):
    inventory = sound()
    everywhere("verify_timeout", value)(inventory)
    assert check(inventory) == []


def test_a_windows_host_needs_no_value_of_the_site():
    inventory = sound()
    inventory["hosts"]["windows"] = {}
    group("gpustack_worker_windows", ["windows"])(inventory)
    assert check(inventory) == []


def test_a_value_of_the_site_that_a_host_cannot_resolve_is_no_difference():
    inventory = sound()
    without("npu", "gpustack_models")(inventory)
    inventory["unreadable"] = {"npu": {"gpustack_models": "cannot be decrypted"}}
    (finding,) = check(inventory)
    assert finding.id == "value_unreadable"
    assert "--ask-vault-pass" in finding.fix


def test_without_any_host_the_sources_are_named():
    (finding,) = check({"groups": {"all": []}, "hosts": {}, "asked": ["inventories/prdo"]})
    assert finding.id == "server_missing"
    assert finding.fix.startswith("no host was read from inventories/prdo; see Ansible's warnings above")


def test_a_name_that_only_shares_a_common_word_with_a_role_is_a_warning():
    inventory = sound()
    everywhere("verify_backups", True)(inventory)
    (finding,) = check(inventory)
    assert (finding.id, finding.severity) == ("role_option_unknown", "warning")
    assert "roles/verify/README.md" in finding.fix


def test_the_right_name_of_the_time_out_is_told():
    inventory = sound()
    deployment(env={"VLLM_ENGINE_READY_TIMEOUT": 3600})(inventory)
    (finding,) = check(inventory)
    assert "VLLM_ENGINE_READY_TIMEOUT_S" in finding.fix


def test_all_problems_come_at_once_errors_first():
    inventory = sound()
    for break_it in (
        everywhere("gpustack_server_port", 8080),
        without("h20", "gpustack_accelerator"),
        nowhere("gpustack_admin_password"),
        lock("docker.io/a/b:1", "sha256:abc"),
    ):
        break_it(inventory)
    findings = check(inventory)
    assert {"accelerator_missing", "server_url_port", "admin_password_missing", "lock_digest_invalid"} <= {
        finding.id for finding in findings
    }
    severities = [finding.severity for finding in findings]
    assert severities == sorted(severities)


def test_secrets_are_in_no_finding():
    inventory = sound()
    secret = "hunter2-hunter2"
    everywhere("gpustack_admin_password", secret)(inventory)
    everywhere("gpustack_worker_config", secret)(inventory)
    on("h20", "gpustack_worker_config", {"worker_port": secret})(inventory)
    everywhere("gpustack_admin_pasword", secret)(inventory)
    everywhere("gpustack_server_url", f"http://user:{secret}@")(inventory)
    deployment(env=secret)(inventory)
    deployment(index=1, env={"HF_TOKEN": [secret], "NO_PROXY": f"10.0.0.0/8,{secret}"})(inventory)
    findings = check(inventory)
    assert {"admin_password_weak", "variable_type", "variable_unknown", "server_url_invalid", "env_value"} <= {
        finding.id for finding in findings
    }
    assert secret not in json.dumps([finding.as_dict() for finding in findings])


ACCOUNTS = [
    "http://admin:SECRET@h",
    "http://admin:pa/SECRET@h",
    "http://admin:12/SECRET@h/v1",
    "http://admin:p@SECRET@h",
    "http://SECRET@h?a#b@c",
    "admin:SECRET@h",
    "http:/admin:SECRET@h",
    "http:admin:SECRET@h",
    "https://u:SECRET@r.example.com/docker.io",
    "https://u:SECRET@r.io/a:b",
    "u:SECRET@r.io/A:b",
    f"u:SECRET@r.io/A:b@{DIGEST}",
]


@pytest.mark.parametrize("text", ACCOUNTS)
@pytest.mark.parametrize(
    ("kind", "write"),
    [
        ("server_url_invalid", lambda text: everywhere("gpustack_server_url", text)),
        ("worker_address_not_ip", lambda text: on("h20", "gpustack_worker_address", text)),
        ("rewrite_invalid", lambda text: everywhere("gpustack_registry_rewrites", {"docker.io": text})),
        ("rewrite_invalid", lambda text: everywhere("gpustack_registry_rewrites", {text: "r:5000"})),
        ("key_value", lambda text: everywhere("gpustack_insecure_registries", [text])),
        ("variable_value", lambda text: everywhere("gpustack_worker_name", text)),
        ("image_invalid", lambda text: deployment(image=text)),
        ("lock_name_invalid", lambda text: lock(text, DIGEST)),
        ("lock_digest_invalid", lambda text: lock("docker.io/a/b:1", text)),
    ],
)
def test_an_account_is_in_no_finding(kind, write, text):
    inventory = sound()
    write(text)(inventory)
    findings = [finding for finding in check(inventory) if finding.id == kind]
    assert findings
    shown = json.dumps([finding.as_dict() for finding in findings])
    assert "***@" in shown
    assert "SECRET" not in shown
    assert "admin" not in shown


def test_the_digest_of_an_image_is_no_host_of_an_account():
    inventory = sound()
    deployment(image="a/b@sha256:zz")(inventory)
    assert "'a/b@sha256:zz'" in only("image_invalid", inventory).found


@pytest.mark.parametrize("separator", ["=", " ", ":", "\n", "@"])
@pytest.mark.parametrize(("place", "kind"), [("args", "argument_name_invalid"), ("env", "env_name_invalid")])
def test_a_name_is_shown_up_to_the_value_in_it(place, kind, separator):
    inventory = sound()
    deployment(**{place: {f"HF_TOKEN{separator}SECRET": ["x"]}})(inventory)
    findings = check(inventory)
    assert only(kind, inventory).where.endswith(f".{place}.HF_TOKEN...")
    assert only(kind, inventory).found == "the name 'HF_TOKEN...'"
    assert "SECRET" not in json.dumps([finding.as_dict() for finding in findings])


def test_an_unknown_key_is_shown_up_to_the_value_in_it():
    inventory = sound()
    deployment(**{"HF_TOKEN=SECRET": None})(inventory)
    finding = only("key_unknown", inventory)
    assert finding.found == "unknown key 'HF_TOKEN...'"
    assert "SECRET" not in json.dumps(finding.as_dict())


def test_a_name_given_twice_is_shown_up_to_the_value_in_it():
    inventory = sound()
    deployment(args={"--hf_token=SECRET": True, "hf-token=SECRET": True})(inventory)
    assert only("argument_twice", inventory).found == "also set by --hf_token..."


def test_an_unsafe_argument_is_told_by_its_characters():
    inventory = sound()
    deployment(args={"hf-token": "SECRET x\"'\\"})(inventory)
    finding = only("argument_unsafe", inventory)
    assert finding.found == "text with white space and a double quote and a single quote and a backslash"
    assert "SECRET" not in json.dumps(finding.as_dict())


@pytest.mark.parametrize(
    ("url", "fix"),
    [("http://admin:x@10.0.0.10:80/v1", "write http://10.0.0.10:80: "), ("http://a:1/x@h", "write http://<address>: ")],
)
def test_the_url_to_write_is_without_the_account(url, fix):
    inventory = sound()
    everywhere("gpustack_server_url", url)(inventory)
    assert only("server_url_invalid", inventory).fix.startswith(fix)


def test_a_worker_may_have_the_address_of_a_proxy():
    inventory = sound()
    everywhere("gpustack_server_url", "https://10.0.0.21")(inventory)
    assert check(inventory) == []


def test_one_mistake_on_many_hosts_is_one_finding():
    inventory = sound()
    for number in range(100):
        inventory["hosts"][f"extra{number}"] = {"gpustack_server_prt": 80}
    findings = [finding for finding in check(inventory) if finding.id == "variable_unknown"]
    assert len(findings) == 1
    assert "and 96 more" in findings[0].where


@pytest.mark.parametrize(
    "junk", [None, 1, "x", [], [1], [{}], [{"deployments": [1]}], [{"name": 1, "deployments": {}}]]
)
def test_any_shape_of_models_is_judged_without_a_traceback(junk):
    inventory = sound()
    everywhere("gpustack_models", junk)(inventory)
    findings = check(inventory)
    assert findings or junk in (None, [])


@pytest.mark.parametrize("junk", [1, "x", [1], {"a": 1}, True])
def test_any_type_of_any_variable_is_judged_without_a_traceback(junk):
    inventory = sound()
    for name in list(inventory["hosts"]["h20"]):
        everywhere(name, junk)(inventory)
    assert check(inventory)


JUNK = [None, 1, -1.5, "", "x y", True, [], [1], {}, {1: 1, "a": [2]}, [{1: 1, "a": 2}], 10**400]


def complete():
    """With what a sound inventory can do without."""
    inventory = sound()
    accept("image_unlocked")(inventory)
    everywhere("gpustack_accelerator_count", 8)(inventory)
    ports = {"worker_port": 10150, "service_port_range": "40000-40063", "disable_worker_metrics": False}
    everywhere("gpustack_worker_config", ports)(inventory)
    deployment(
        args={"tp": 8, "gpu-memory-utilization": 0.8},
        env={"NO_PROXY": "10.0.0.0/8"},
        image="registry.example.com/vllm:1",
        gpu_memory_utilization=0.5,
        max_concurrency=4,
        kv_cache_gib=1.5,
        structured_outputs={"backend": "xgrammar", "cache_mb": 1},
    )(inventory)
    declared = {"engine": "vllm", "engine_version": "0.25.0", "platform": "cuda", "compute_capabilities": [8]}
    everywhere("gpustack_engine_images", {"registry.example.com/vllm:1": declared})(inventory)
    everywhere("gpustack_profiles", own_profiles())(inventory)
    return inventory


def own_profiles():
    card = {
        "name": "A card",
        "vendor": "nvidia",
        "pci_ids": ["10de:ffff"],
        "memory_bytes": 2**35,
        "compute_capability": "9.0",
        "cards_per_host": 8,
        "platform": "cuda",
        "device_type": "cuda",
        "container": {"runtime": "nvidia", "env": {}},
        "limits": {"formats": ["fp8"], "max_model_len": 4096, "max_num_seqs": 4},
    }
    layer = {
        "arguments": {"max-num-seqs": 8, "dtype": None},
        "env": {"A": "1"},
        "dspark": {"tokens": 5, "extra": {}},
        "kv_cache_gib": {"gib": 3.5, "gpu_memory_utilization": 0.5, "devices": 8},
        "sources": {"A": "ours"},
    }
    family = {
        "description": "Ours",
        "formats": {"cuda": ["fp8"]},
        "compute_capabilities": {"majors": [9]},
        "platforms": {"cuda": layer},
        "published": {"name": "ours", "platforms": ["cuda"], "weight_bytes": 10**9, "config": {"model_type": "ours"}},
    }
    return {
        "accelerators": {"card_of_ours": card, H20: layer},
        "families": {"family_of_ours": family, "deepseek_v4": layer},
        "pairs": {f"deepseek_v4__{H20}": layer},
    }


def test_a_site_with_profiles_and_images_of_its_own_is_judged_by_them():
    inventory = complete()
    inventory["hosts"]["h20"]["gpustack_accelerator"] = "card_of_ours"
    everywhere("gpustack_models", [])(inventory)
    assert [
        finding.id for finding in check(inventory) if finding.id.startswith(("profile_", "accelerator_", "key_"))
    ] == []


def places(value, path=()):
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*path, key))


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:20])
def test_junk_anywhere_is_judged_without_a_traceback(junk):
    names = [name for name in complete()["hosts"]["h20"] if name.startswith("gpustack_")]
    for path in [path for path in places({name: complete()["hosts"]["h20"][name] for name in names}) if path]:
        inventory = complete()
        for values in inventory["hosts"].values():
            inner = values
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = copy.deepcopy(junk)
        check(inventory)


def only(kind, inventory):
    (finding,) = (finding for finding in check(inventory) if finding.id == kind)
    return finding


def test_the_largest_host_of_an_accelerator_counts_and_is_named():
    inventory = sound()
    inventory["hosts"]["big"] = dict(inventory["hosts"]["h20"], gpustack_worker_address="10.0.0.22")
    inventory["hosts"]["big"]["gpustack_accelerator_count"] = 12
    inventory["groups"]["gpustack_worker"].append("big")
    deployment(args={"tensor-parallel-size": 8, "pipeline-parallel-size": 2})(inventory)
    finding = only("cards_exceeded", inventory)
    assert (
        finding.found
        == "tensor-parallel-size 8 x pipeline-parallel-size 2, so one instance needs 16 cards, 4 more than a host has"
    )
    assert "at most 12, the cards of big" in finding.expected


def test_too_few_cards_are_told_with_the_arithmetic():
    inventory = sound()
    third_deployment(inventory)
    finding = only("cards_short", inventory)
    assert finding.found.startswith(f"8 cards missing, there is no place for 1 instance of second-{H20}: ")
    for part in (f"flash-{H20}: 1 x 8 cards, 0.9 of each", f"second-{H20}: 1 x 8 cards, 0.9 of each"):
        assert part in finding.found
    assert finding.expected == "what fits on the 8 cards of h20"


def test_the_longest_context_of_the_model_itself_may_be_asked_for():
    inventory = sound()
    deployment(max_model_len="auto")(inventory)
    # The other deployment behind the route takes less.
    assert [(finding.id, finding.severity) for finding in check(inventory)] == [("route_lengths_unequal", "note")]


def test_what_to_write_instead_of_a_network():
    inventory = sound()
    deployment(env={"NO_PROXY": "localhost,10.0.0.0/8,secret.example.org"})(inventory)
    finding = only("no_proxy_cidr", inventory)
    assert finding.found == "a network: 10.0.0.0/8"
    assert finding.fix.endswith("localhost, 127.0.0.1, 10.0.0.10, 10.0.0.21, 10.0.0.31")


def test_what_has_a_finding_of_its_own_is_not_told_to_be_written():
    inventory = sound()
    deployment(env={"NO_PROXY": "10.0.0.0/8"})(inventory)
    on("npu", "gpustack_server_url", "http://10.0.0.99/v1")(inventory)
    on("npu", "gpustack_worker_address", "8.8.8.8")(inventory)
    for number, address in enumerate(("127.0.0.1", "h20.example.org", "10.0.0.22")):
        inventory["hosts"][f"more{number}"] = dict(inventory["hosts"]["h20"], gpustack_worker_address=address)
        inventory["groups"]["gpustack_worker"].append(f"more{number}")
    fix = only("no_proxy_cidr", inventory).fix
    assert fix.endswith(": localhost, 127.0.0.1, 10.0.0.10, 10.0.0.21, 10.0.0.22")


def same_model_again(inventory):
    for index in (0, 1):
        deployment(index, args={"tensor-parallel-size": 4})(inventory)
    for values in inventory["hosts"].values():
        values["gpustack_models"] *= 2


def third_host_without(accelerator):
    """The deployments need a second H20 host, whose accelerator is missing or misspelled."""

    def change(inventory):
        third_deployment(inventory)
        inventory["hosts"]["h20-02"] = dict(
            inventory["hosts"]["h20"], gpustack_worker_address="10.0.0.22", gpustack_accelerator=accelerator
        )
        inventory["groups"]["gpustack_worker"].append("h20-02")

    return change


def source(text):
    return lambda inventory: inventory.update(sources={"hosts.yml": text})


def ini(text):
    return lambda inventory: inventory.update(sources={"hosts": text})


def certificate(inventory):
    everywhere("gpustack_tls_certificate", "/etc/ssl/tls.crt")(inventory)
    everywhere("gpustack_tls_key", "/etc/ssl/tls.key")(inventory)


def test_localhost_is_no_name_of_a_certificate():
    inventory = sound()
    certificate(inventory)
    everywhere("gpustack_server_url", "http://localhost")(inventory)
    assert only("tls_url_mismatch", inventory).fix.startswith("write https://<name in the certificate>,")


def incomplete_card(inventory):
    on("h20", "gpustack_accelerator", "card_of_ours")(inventory)
    deployment(accelerator="card_of_ours")(inventory)
    model(route=None)(inventory)
    profiles = own_profiles()
    del profiles["accelerators"]["card_of_ours"]["container"]
    pairs = {"deepseek_v4__card_of_ours": {}}
    everywhere("gpustack_profiles", {"accelerators": profiles["accelerators"], "pairs": pairs})(inventory)


def test_a_switch_with_a_number_is_a_wrong_type_and_nothing_more():
    inventory = sound()
    model(dspark=1)(inventory)
    assert only("key_type", inventory).expected == "true or false"


def test_the_built_in_value_stands_where_a_site_writes_null():
    inventory = sound()
    everywhere("gpustack_profiles", {"accelerators": {H20: {"cards_per_host": None}}})(inventory)
    deployment(args={"tensor-parallel-size": 16})(inventory)
    assert only("profile_incomplete", inventory).found == "null for cards_per_host"
    assert "at most 8" in only("cards_exceeded", inventory).expected


def test_an_engine_image_is_named_whole_and_without_an_account():
    inventory = sound()
    everywhere("gpustack_engine_images", {"u:SECRET@reg.io/ai/vllm:1": {"engine": "sglang"}})(inventory)
    places = [finding.where for finding in check(inventory) if finding.id.startswith("key_")]
    assert places
    assert all(place.startswith("gpustack_engine_images.***@reg.io/ai/vllm:1.") for place in places)


@pytest.mark.parametrize("runtime", ["banana", "12", "12.9.1"])
def test_the_runtime_of_an_image_is_a_release(runtime):
    inventory = sound()
    declared = {"engine": "vllm", "engine_version": "0.25.0", "platform": "cuda", "cuda": runtime}
    everywhere("gpustack_engine_images", {"reg.io/vllm:1": declared})(inventory)
    assert only("key_value", inventory).where.startswith("gpustack_engine_images.reg.io/vllm:1.cuda")


def test_the_image_of_a_profile_is_corrected_in_the_profile():
    inventory = sound()
    everywhere("gpustack_profiles", {"accelerators": {H20: {"image": "vllm_ascend"}}})(inventory)
    finding = only("image_platform", inventory)
    assert finding.where.endswith(".deployments[0]")
    assert finding.fix.startswith("correct image in gpustack_profiles")


@pytest.mark.parametrize("index", [0, 1])
def test_fewer_tokens_than_the_published_draft_makes_are_told_without_a_checkpoint(index):
    inventory = sound()
    model(dspark_options={"tokens": 1})(inventory)
    kind = ("dspark_tokens_short", "dspark_tokens_below_block")[index]
    assert "at least 5, dspark_block_size of DeepSeek-V4-Flash-0731" in only(kind, inventory).expected


def test_a_missing_kernel_of_a_family_of_ours_needs_no_source():
    inventory = sound()
    family = {**own_profiles()["families"]["family_of_ours"], "compute_capabilities": {"majors": [12]}}
    everywhere("gpustack_profiles", {"families": {"family_of_ours": family}})(inventory)
    model(family="family_of_ours", dspark=False, dspark_options=None)(inventory)
    assert only("family_unsupported_on_accelerator", inventory).source == "gpustack_profiles of this site"


UNKNOWN_TOO = ["accelerator_unknown", "deployment_without_host", "profile_incomplete"]
WORKERS_MISNAMED = [group("gpustack_worker", []), group("gpustack_workers", ["h20"])]
ENDLESS = unreadable("cannot be resolved: Syntax error in template: Missing end of comment tag")


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ([same_model_again], ["model_duplicate"]),
        ([everywhere("gpustack_version", "v2.3.0")], ["variable_value"]),
        ([deployment(engine_version="v0.25.0")], ["key_value"]),
        ([model(dspark_options={"sampling": "random"})], ["key_value"]),
        (WORKERS_MISNAMED, ["worker_group_misnamed"]),
        ([third_host_without(None)], ["accelerator_missing"]),
        ([third_host_without("nvidia_h20_3")], ["accelerator_unknown"]),
        ([third_host_without("ascend_910")], ["accelerator_unknown", "cards_short"]),
        ([without("npu", "gpustack_accelerator")], ["accelerator_missing"]),
        ([on("npu", "gpustack_accelerator", "ascend_910")], ["accelerator_unknown"]),
        ([on("npu", "gpustack_accelerator", "nvidia_h20_3")], ["accelerator_unknown", "deployment_without_host"]),
        ([on("npu", "gpustack_accelerator", 910)], ["variable_type"]),
        ([third_deployment, deployment(replicas="one")], ["key_type"]),
        ([incomplete_card], ["profile_incomplete"]),
        ([incomplete_card, on("npu", "gpustack_accelerator", "other")], UNKNOWN_TOO),
        ([certificate, everywhere("gpustack_server_port", 8080)], ["tls_url_mismatch"]),
        (
            [certificate, everywhere("gpustack_server_port", 8080), accept("tls_url_mismatch")],
            ["server_url_port", "tls_url_mismatch"],
        ),
        (
            [*WORKERS_MISNAMED, accept("worker_group_misnamed")],
            [*["deployment_without_host"] * 2, "worker_group_misnamed"],
        ),
        ([source("gpustack_cluster_name: 2.30"), everywhere("gpustack_cluster_name", 2.3)], ["number_loses_digits"]),
        (
            [source("gpustack_cluster_name: 2.30"), everywhere("gpustack_version", 2.3)],
            ["number_loses_digits", "variable_type"],
        ),
        ([source("gpustack_cluster_name: 'a{#'"), ENDLESS], ["jinja_comment"]),
        (
            [
                source("gpustack_worker_name: 2.30"),
                on("h20", "gpustack_worker_name", 2.3),
                on("npu", "gpustack_worker_name", 8),
            ],
            ["number_loses_digits", "variable_type", "variable_type"],
        ),
        (
            [
                ini("[all:vars]\ngpustack_server_url=http://10.0.0.10 # us\n"),
                everywhere("gpustack_server_url", "http://10.0.0.10 # us"),
            ],
            ["ini_comment"],
        ),
        (
            [ini("[all]\nh20 gpustack_worker_address=10.0.0.21#h\n"), on("npu", "gpustack_worker_address", "npu")],
            ["ini_comment", "worker_address_not_ip"],
        ),
        (
            [ini("[all]\nh20 gpustack_worker_address=10.0.0#21\n"), on("h20", "gpustack_worker_address", "10.0.0")],
            ["ini_comment"],
        ),
        (
            [ini("[all]\nh20 gpustack_worker_address=10.0.0#21\n"), on("npu", "gpustack_worker_address", "npu#1")],
            ["ini_comment", "worker_address_not_ip"],
        ),
        (
            [ini("[all]\nh[20:21] gpustack_worker_address=#x\n"), on("h20", "gpustack_worker_address", "")],
            ["ini_comment"],
        ),
        ([source("gpustack_admin_password: 'a{#'"), ENDLESS], ["jinja_comment", "value_unreadable"]),
        (
            [source("gpustack_cluster_name: 'a{#'"), unreadable("'x' is undefined")],
            ["jinja_comment", "value_unreadable"],
        ),
    ],
)
def test_one_mistake_is_one_finding_and_two_are_two(changes, kinds):
    inventory = sound()
    for change in changes:
        change(inventory)
    assert sorted(finding.id for finding in check(inventory)) == kinds


def test_an_invented_setting_is_answered_with_what_exists():
    inventory = sound()
    deployment(concurrency_limit=4)(inventory)
    (finding,) = check(inventory)
    assert finding.where.startswith("gpustack_models[0].deployments[0].concurrency_limit (flash)")
    assert "max_concurrency" in finding.expected


def test_every_invented_setting_is_found_under_every_name():
    for knob in _data.load("knobs.yml"):
        assert knob["instead"]
        assert knob["source"]
        for name in (knob["name"], *knob.get("aliases", [])):
            inventory = sound()
            of_models = "model" in knob.get("only", ["model"])
            (model(**{name: "x"}) if of_models else everywhere(f"gpustack_{name}", "x"))(inventory)
            assert [finding.id for finding in check(inventory)] == ["knob_invented"], name


def test_an_accepted_finding_stays_as_a_note_with_its_reason():
    inventory = sound()
    unlock("docker.io/gpustack/runtime:pause")(inventory)
    unlock("docker.io/gpustack/runtime:health")(inventory)
    before = check(inventory)
    accept("image_moving_unlocked", reason=" rebuilt each week ")(inventory)
    after = check(inventory)
    assert [finding.severity for finding in before] == ["error", "error"]
    assert after == [dataclasses.replace(finding, severity="note", accepted="rebuilt each week") for finding in before]


@pytest.mark.parametrize("reason", ["测试环境，没有可用的镜像仓库", "No registry yet:\nTicket 4711.\n"])
def test_a_reason_may_be_in_any_language_and_have_lines(reason):
    inventory = sound()
    unlock("docker.io/gpustack/gpustack:v2.3.0")(inventory)
    accept("image_unlocked", reason=reason)(inventory)
    assert [(finding.id, finding.accepted) for finding in check(inventory)] == [("image_unlocked", reason.strip())]


def test_a_reason_that_says_nothing_accepts_nothing():
    inventory = sound()
    unlock("docker.io/gpustack/runtime:pause")(inventory)
    accept("image_moving_unlocked", reason="ok")(inventory)
    assert only("image_moving_unlocked", inventory).severity == "error"


def test_three_unused_acceptances_are_warnings_and_four_are_one_error():
    inventory = sound()
    accept("image_unlocked", "cards_short", "no_proxy_cidr")(inventory)
    assert [finding.id for finding in check(inventory)] == ["accept_unused"] * 3
    accept("image_unlocked", "cards_short", "no_proxy_cidr", "server_url_port")(inventory)
    (finding,) = check(inventory)
    assert (finding.id, finding.severity) == ("accept_many_unused", "error")
    assert "hides what is new" in finding.expected


def test_one_kind_accepted_twice_is_told_with_the_first_place():
    inventory = sound()
    unlock("docker.io/gpustack/gpustack:v2.3.0")(inventory)
    accept("image_unlocked", "image_unlocked")(inventory)
    finding = only("accept_twice", inventory)
    assert (finding.where, finding.found) == (
        "gpustack_accept[1].id",
        "image_unlocked, which gpustack_accept[0] has too",
    )


def test_what_fails_on_every_site_cannot_be_accepted():
    assert not any(CATALOGUE[kind]["acceptable"] for kind in ("port_overlap", "server_url_localhost"))


def test_other_findings_are_not_touched_by_an_acceptance():
    inventory = sound()
    unlock("docker.io/gpustack/runtime:pause")(inventory)
    everywhere("gpustack_server_port", 8080)(inventory)
    accept("server_url_port", "value_unreadable", "imge_unlocked")(inventory)
    found = {(finding.id, finding.severity, bool(finding.accepted)) for finding in check(inventory)}
    assert found == {
        ("image_moving_unlocked", "error", False),
        ("server_url_port", "note", True),
        ("accept_refused", "error", False),
        ("accept_unknown", "error", False),
    }
    assert only("accept_unknown", inventory).fix == "did you mean image_unlocked?"


def test_an_entry_without_a_reason_accepts_nothing():
    inventory = sound()
    unlock("docker.io/gpustack/gpustack:v2.3.0")(inventory)
    everywhere("gpustack_accept", [{"id": "image_unlocked"}])(inventory)
    assert {finding.id for finding in check(inventory)} == {"key_missing", "image_unlocked"}


def test_findings_about_an_acceptance_cannot_be_accepted():
    assert not [kind for kind in CATALOGUE if kind.startswith("accept_") and CATALOGUE[kind]["acceptable"]]


def called_kinds(files="_*.py"):
    """(kind, severity) of each finding that the checks make with a literal kind."""
    for path in sorted(CHECKS.glob(files)):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            made = isinstance(node, ast.Call) and getattr(node.func, "id", "") in _findings.SEVERITIES
            if made and isinstance(node.args[0], ast.Constant):
                yield node.args[0].value, node.func.id


def test_every_kind_of_the_checks_is_in_the_catalogue_with_its_severity():
    kinds = set(called_kinds())
    assert len(kinds) > 60
    assert kinds <= {(kind, entry["severity"]) for kind, entry in CATALOGUE.items()}


def test_every_kind_of_the_catalogue_is_in_the_checks():
    words = {
        node.value
        # What a look at a host finds by itself is said in the modules' part.
        for directory in (CHECKS, CHECKS.parent / "module_utils")
        for path in directory.glob("_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(CATALOGUE) <= words


@pytest.mark.parametrize("kind", CATALOGUE)
def test_an_entry_of_the_catalogue_is_complete(kind):
    assert set(CATALOGUE[kind]) - {"of_hosts"} == {"title", "title_zh", "severity", "acceptable"}
    assert CATALOGUE[kind]["severity"] in _findings.SEVERITIES
    assert isinstance(CATALOGUE[kind]["acceptable"], bool)


def test_the_number_of_kinds_is_told_as_it_is():
    root = CHECKS.parents[1]
    # The inventory alone has none of these.
    of_hosts = {(kind, entry["severity"]) for kind, entry in CATALOGUE.items() if entry.get("of_hosts")}
    others = {*called_kinds("_check_engine_log.py"), *of_hosts}
    for path in [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("changelogs/fragments/*.yml")]:
        for number in re.findall(r"(\d+) kinds of (?:mistakes|findings)", path.read_text(encoding="utf-8")):
            assert int(number) == len(EVERY_KIND) - len(others), path


def test_every_wrong_weight_is_listed():
    inventory = sound()
    both_weights(1.5, -1)(inventory)
    assert [finding.id for finding in check(inventory)] == ["key_value", "key_value"]


def test_500_hosts_and_20_models_stay_within_the_budget():
    inventory = sound()
    shared = inventory["hosts"]["h20"]
    entries = [dict(shared["gpustack_models"][0], name=f"m{number}") for number in range(20)]
    # Values of their own on each host, which is the expensive case.
    text = json.dumps(dict(shared, gpustack_models=entries))
    for number in range(500):
        inventory["hosts"][f"w{number}"] = json.loads(text)
        inventory["groups"]["gpustack_worker"].append(f"w{number}")
    started = time.process_time()
    check(inventory)
    assert time.process_time() - started < 1.5
