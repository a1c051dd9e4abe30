# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of the tests against real servers. README.md says how to use them."""

from __future__ import annotations

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import report
import servers
import traps
from ansible_collections.inferops.gpustack.plugins.module_utils import _client
from api import Api
from fault_proxy import FaultProxy
from module_runner import Secrets, run_module
from postgres import Postgres
from simulated_worker import SimulatedWorker

HERE = Path(__file__).parent
_OUTCOMES = pytest.StashKey[dict]()
_RESULTS = pytest.StashKey[list]()
_SEEDED = pytest.StashKey[dict]()
FIRST_PASSWORD = "Canary_0th-password"
_names = itertools.count(1)


def pytest_addoption(parser):
    group = parser.getgroup("GPUStack")
    group.addoption("--gpustack", default=servers.NEWEST, help="versions to test against, separated by commas")
    group.addoption("--server", help="URL of a running, shared server that servers.py started, instead of a new one")
    group.addoption("--write-traps", action="store_true", help="write the tests of the traps into README.md")


def pytest_configure(config):
    config.addinivalue_line("markers", "empty_server: runs before everything else")
    config.addinivalue_line("markers", "every_trap: runs after everything else")
    config.addinivalue_line("markers", "trap(number, ..., not_on={version: reason}): the test of a trap of the API")
    config.stash[_OUTCOMES], config.stash[_RESULTS], config.stash[_SEEDED] = {}, [], {}


def pytest_generate_tests(metafunc):
    if "server" in metafunc.fixturenames:
        metafunc.parametrize("server", _versions(metafunc.config), indirect=True, scope="session")


def _versions(config):
    return config.getoption("gpustack").split(",")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    versions = [None, *_versions(config)]
    items.sort(key=lambda item: ("every_trap" in item.keywords, versions.index(traps.version_of(item)), _turn(item)))
    for item in items:
        reasons = [not_on[traps.version_of(item)] for not_on in traps.markers(item).values() if _applies(item, not_on)]
        if reasons:
            item.add_marker(pytest.mark.skip(reason=reasons[0]))


def _turn(item):
    """What needs an empty server, what keeps a second one running, and everything else."""
    if "empty_server" in item.keywords:
        return 0
    return 1 if "seeded_server" in item.fixturenames else 2


def _applies(item, not_on):
    return traps.version_of(item) in not_on


def pytest_collection_finish(session):
    if session.config.getoption("write_traps"):
        traps.write(session.items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    result = yield
    outcomes = item.config.stash[_OUTCOMES]
    if result.when == "call" or result.outcome != "passed":
        # A failing clean-up fails a test that has passed.
        if item.nodeid not in outcomes or result.failed:
            outcomes[item.nodeid] = result.outcome
        if result.when == "call" or result.when == "setup":
            item.config.stash[_RESULTS].append((item.path, traps.version_of(item), result.outcome))
    return result


def pytest_terminal_summary(terminalreporter, config):
    if config.stash[_RESULTS]:
        terminalreporter.section("module x version x result")
        for line in report.table(config.stash[_RESULTS]):
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def postgres():
    database = Postgres()
    yield database
    database.stop()


@pytest.fixture(scope="session")
def server(request):
    """A running server, one per version and session."""
    url = request.config.getoption("server")
    if url:
        running = servers.Running(request.param, url)
    else:
        postgres = request.getfixturevalue("postgres")
        if any("seeded_server" in item.fixturenames for item in request.session.items):
            request.config.stash[_SEEDED][request.param] = _start_seeded(request.param, postgres)
        running = servers.Server(request.param, postgres.database(f"shared_{request.param.replace('.', '_')}"))
    running.api = Api(running.url, token=running.key)
    yield running
    running.close()


def _start_seeded(version, postgres):
    """A start takes half a minute of one core; the shared server's needs another one."""
    servers.program(version)
    options = {"bootstrap_password": None, "files": {"initial_admin_password": FIRST_PASSWORD}}
    return ThreadPoolExecutor(1).submit(servers.Server, version, postgres.database(f"own_{next(_names)}"), **options)


@pytest.fixture
def seeded_server(request, server, postgres):
    """Another server with an empty database, whose first password stands in a file. It can be stopped and started."""
    started = request.config.stash[_SEEDED].pop(server.version, None) or _start_seeded(server.version, postgres)
    own = started.result()
    yield own
    own.close()


@pytest.fixture
def api(server):
    return server.api


@pytest.fixture(scope="session")
def _workers(server):
    """A new worker is ready after the server's next flush, up to 5 s: tests share them."""
    workers = {}

    def get(name):
        if name not in workers:
            workers[name] = SimulatedWorker(server, server.cluster_id, f"{name}-{os.getpid()}")
        return workers[name]

    yield get
    for one in workers.values():
        one.close()
        server.api.request("DELETE", f"/v2/workers/{one.id}")


@pytest.fixture
def worker(server, _workers):
    """A ready worker with 8 cards that knows and remembers nothing."""
    return _fresh(server, _workers("simulated-one"))


@pytest.fixture
def other_worker(server, _workers):
    return _fresh(server, _workers("simulated-two"))


def _fresh(server, worker):
    worker.forget()
    path = f"/v2/workers/{worker.id}"
    found = server.api.get(path)
    wanted = {"name": worker.name, "labels": worker.registered_labels, "maintenance": None}
    if any(found[key] != value for key, value in wanted.items()):
        server.api.put(path, wanted)
    server.api.wait(path, lambda answer: answer["state"] == "ready")
    # Those still in use are refused, and belong to somebody.
    for file in server.api.items("/v2/model-files", worker_id=worker.id):
        server.api.request("DELETE", f"/v2/model-files/{file['id']}")
    return worker


@pytest.fixture
def make_worker(server):
    """Another worker, removed from the server at the end: `make_worker(name, labels={}, status=cards.status(...))`."""
    made = []

    def make(name, cluster_id=None, **options):
        made.append(SimulatedWorker(server, cluster_id or server.cluster_id, name, **options))
        server.api.wait(f"/v2/workers/{made[-1].id}", lambda answer: answer["state"] == "ready")
        return made[-1]

    yield make
    for one in made:
        one.close()
        server.api.request("DELETE", f"/v2/workers/{one.id}")


@pytest.fixture
def proxy(server):
    between = FaultProxy(server.url)
    yield between
    between.close()


@pytest.fixture
def secrets(server):
    return Secrets(server.password, server.key)


@pytest.fixture
def client_options(server):
    """What every module needs to reach the server."""
    return {"url": server.url, "api_key": server.key}


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    """Between attempts at a server that is not there, which many tests ask for."""
    monkeypatch.setattr(_client, "FIRST_PAUSE", 0.02)


@pytest.fixture(autouse=True)
def _no_options_from_the_environment(monkeypatch):
    for name in [name for name in os.environ if name.startswith("GPUSTACK_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def run(server, client_options, secrets):
    """The result of a module: `run("user", name="x", check=True, ok=False)`. `ok` says whether it must succeed."""

    def call(module, /, check=False, diff=True, ok=True, **params):
        others = {"url": server.url, "password": server.password} if {"username", "password"} & set(params) else {}
        result = run_module(module, secrets, check=check, diff=diff, **{**(others or client_options), **params})
        failed = bool(result.get("failed"))
        assert failed is not ok, f"{module} {'failed' if failed else 'did not fail'}: {result.get('msg') or result}"
        return result

    return call


@pytest.fixture
def unique():
    """A name nothing else has: `unique("user")`."""
    return lambda prefix: f"{prefix}-{os.getpid()}-{next(_names)}"


@pytest.fixture
def deploy(server, worker, unique):
    """Make a deployment of a model directory the worker has, and delete it at the end."""
    made = []

    def make(name=None, path=None, **fields):
        body = {
            "name": name or unique("deployment"),
            "source": "local_path",
            "local_path": path or worker.add_path("/srv/models/simulated"),
            "backend": "vLLM",
            "backend_parameters": ["--gpu-memory-utilization=0.2", "--max-model-len=8192"],
            "replicas": 1,
            "cluster_id": server.cluster_id,
            "enable_model_route": True,
            # A shared server may have workers of other sessions.
            "worker_selector": {"worker-name": worker.name},
        }
        made.append(server.api.post("/v2/models", {**body, **fields}))
        return made[-1]

    yield make
    for one in made:
        server.api.request("DELETE", f"/v2/models/{one['id']}")


@pytest.fixture(scope="session")
def trap_problems(request):
    """What is wrong with the traps; None when only some of the tests were asked for."""
    config = request.config
    whole = all(Path(argument).resolve() == HERE for argument in config.args)
    filtered = any(config.getoption(name) for name in ("keyword", "markexpr", "deselect", "lf"))
    if not whole or filtered:
        return None
    return list(traps.problems(request.session.items, config.stash[_OUTCOMES], _versions(config)))
