"""The long form of the kill test: bare hosts before every moment, a converging run, then one without change."""

from __future__ import annotations

import lab_site
import pytest
from kill_points import KILL_POINTS


@pytest.fixture
def bare():
    for playbook in ("lab/reset.yml", "lab/create.yml"):
        run = lab_site.playbook(playbook, log="reset_all.log")
        assert run.code == 0, run.tail()


@pytest.mark.parametrize("moment", KILL_POINTS)
def test_next_run_converges_and_the_one_after_changes_nothing(bare, lab, api, moment):
    run = lab_site.Run("site.yml", "-i", str(lab_site.INVENTORY), log=f"kill_each_{moment}.log")
    assert run.kill_when(lambda: KILL_POINTS[moment](lab, api)), run.tail()
    run = lab_site.site(log=f"kill_each_{moment}_next.log")
    assert run.code == 0, run.tail()
    run = lab_site.site(log=f"kill_each_{moment}_no_op.log")
    assert run.code == 0, run.tail()
    assert run.changed() == 0
