"""What the cluster serves, from the typed list of arguments to the answer of a client."""

from __future__ import annotations

import json
import re
import urllib.request

import lab_site
import pytest
import yaml
from lab_site import ADDRESSES, DEPLOYMENTS, H20, NPU, ROUTE, RTX

GOLDEN = yaml.safe_load((lab_site.ROOT / "tests" / "golden" / "report_c.yml").read_text())
CARDS = {H20: GOLDEN["h20"], NPU: GOLDEN["ascend"]}
ADDED_BY_GPUSTACK = ["--host", "--port", "--served-model-name"]
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "role": {"type": "string", "enum": ["admin", "user"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "age", "role", "tags"],
    "additionalProperties": False,
}
SUCCESS = re.compile(r"^vllm:request_success_total\{.*\} (\S+)$", re.MULTILINE)


# Typed from the site's YAML and from vLLM's documentation of the option, not made by what is tested.
QWEN3_SPECULATION = (
    '--speculative-config={"method":"dspark","num_speculative_tokens":7,"draft_sample_method":"greedy",'
    '"model":"/srv/models/dspark_qwen3_8b_block7"}'
)
QWEN3_QUOTED = (
    '--default-chat-template-kwargs={"enable_thinking":false,'
    '"house":{"rules":"Say \\"yes\\", \\"no\\" or {why}. It\'s that easy: \\\\o/"}}'
)


def requests_served(api, host):
    """Requests the host's engine counted as finished."""
    instances = [item for item in api.items("model-instances") if item["worker_name"] == host]
    assert len(instances) == 1
    url = f"http://{ADDRESSES[host]}:{instances[0]['ports'][0]}/metrics"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return sum(float(value) for value in SUCCESS.findall(answer.read().decode()))


@pytest.mark.parametrize("host", CARDS)
def test_arguments_read_back_from_the_api(api, host):
    model = api.named("models", DEPLOYMENTS[host])
    assert model["backend_parameters"] == CARDS[host]["parameters"]
    assert model["env"] == CARDS[host]["env"]


@pytest.mark.parametrize("host", CARDS)
def test_command_line_of_the_running_engine(lab, host):
    container = lab.inspect(host, lab.engine_container(host))
    command = [container["Path"], *container["Args"]]
    parameters = CARDS[host]["parameters"]
    start = command.index(parameters[0])
    assert command[:2] == ["vllm", "serve"]
    assert command[start : start + len(parameters)] == parameters
    rest = command[start + len(parameters) :]
    assert rest[::2] == ADDED_BY_GPUSTACK


def test_qwen3_runs_with_its_draft_on_the_rtx_4090_and_nowhere_else(lab, api):
    instances = [item for item in api.items("model-instances") if item["model_name"] == DEPLOYMENTS[RTX]]
    assert [(item["worker_name"], item["state"]) for item in instances] == [(RTX, "running")]
    for host in CARDS:
        assert not [name for name in lab.running(host) if name.startswith(DEPLOYMENTS[RTX])]
    command = lab.engine_command(RTX)
    assert command[command.index("serve") + 1] == "/srv/models/Qwen3-8B-AWQ"
    assert QWEN3_SPECULATION in command


def test_quotes_spaces_and_braces_reach_the_engine_as_they_stand_in_the_inventory(lab):
    assert QWEN3_QUOTED in lab.engine_command(RTX)


@pytest.mark.parametrize("host", CARDS)
def test_environment_of_the_running_engine(lab, host):
    container = lab.inspect(host, lab.engine_container(host))
    environment = dict(line.split("=", 1) for line in container["Config"]["Env"])
    assert {name: environment.get(name) for name in CARDS[host]["env"]} == CARDS[host]["env"]
    assert "VLLM_ENGINE_READY_TIMEOUT" not in environment


@pytest.mark.parametrize("host", CARDS)
def test_models_are_mounted_read_only(lab, host):
    mounts = {mount["Destination"]: mount for mount in lab.inspect(host, "gpustack-worker")["Mounts"]}
    assert mounts["/srv/models"]["Source"] == "/srv/models"
    assert mounts["/srv/models"]["RW"] is False


@pytest.mark.parametrize("host", CARDS)
def test_deployments_run_the_locked_digest(lab, api, host):
    reference = api.named("models", DEPLOYMENTS[host])["image_name"]
    name, digest = reference.split("/", 1)[1].split("@")
    locked = {key.rpartition(":")[0]: value for key, value in lab.lock().items()}
    assert locked[name] == digest
    assert lab.inspect(host, lab.engine_container(host))["Image"] == lab.inspect(host, reference)["Id"]


@pytest.mark.parametrize("model", [*DEPLOYMENTS.values(), ROUTE])
def test_json_schema_is_answered_with_valid_json(api, model):
    answer = api.chat(
        model,
        "Describe a user.",
        max_tokens=400,
        response_format={"type": "json_schema", "json_schema": {"name": "user", "schema": SCHEMA, "strict": True}},
    )
    choice = answer["choices"][0]
    assert choice["finish_reason"] == "stop"
    user = json.loads(choice["message"]["content"])
    assert set(user) == set(SCHEMA["required"])
    assert isinstance(user["name"], str)
    assert type(user["age"]) is int
    assert user["role"] in ("admin", "user")
    assert all(isinstance(tag, str) for tag in user["tags"])


def test_the_route_splits_three_to_one(api):
    before = {host: requests_served(api, host) for host in CARDS}
    for number in range(200):
        api.chat(ROUTE, f"Request {number}.", max_tokens=4)
    share = {host: (requests_served(api, host) - before[host]) / 200 for host in CARDS}
    print(f"\nof 200 requests: {share}")
    assert sum(share.values()) == 1
    assert abs(share[H20] - 0.75) <= 0.10
