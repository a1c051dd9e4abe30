from __future__ import annotations

import lab_site
import pytest


@pytest.fixture(scope="session")
def lab():
    return lab_site.Lab()


@pytest.fixture(scope="session")
def api(lab):
    return lab_site.Api(lab.password)


def pytest_sessionfinish(session, exitstatus):
    """A file of which nothing ran has not passed."""
    stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
    if exitstatus == pytest.ExitCode.OK and stats.get("skipped") and not stats.get("passed"):
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
