from __future__ import annotations

import lab_site
import pytest


@pytest.fixture(scope="session")
def lab():
    return lab_site.Lab()


@pytest.fixture(scope="session")
def api(lab):
    return lab_site.Api(lab.password)
