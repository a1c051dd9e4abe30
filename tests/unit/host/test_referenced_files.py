# Copyright: Contributors to inferops.gpustack
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates and keys a configuration names: there, private, and newer than the container."""

from __future__ import annotations

import os

import pytest
from ansible_collections.inferops.gpustack.plugins.modules import config_file

LONG_AGO, LONG_AFTER = "2001-01-01T00:00:00Z", "2101-01-01T00:00:00Z"


@pytest.fixture
def certificate(tmp_path):
    path = tmp_path / "tls.crt"
    path.write_text("-----BEGIN CERTIFICATE-----\n")
    path.chmod(0o644)
    return path


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "tls.key"
    path.write_text("-----BEGIN EC PRIVATE KEY-----\n")
    path.chmod(0o640)
    return path


@pytest.fixture
def write(tmp_path, run_module):
    def call(*files, **options):
        dest = tmp_path / "etc" / "config.yaml"
        return run_module(config_file, dest=str(dest), config={"debug": True}, referenced_files=list(files), **options)

    return call


def test_a_public_certificate_and_a_key_of_owner_and_group_are_fine(write, certificate, key):
    assert write(str(certificate), str(key))["changed"] is True


def test_a_missing_file_is_refused_before_anything_is_written(write, tmp_path):
    answer = write(str(tmp_path / "none.crt"))
    assert answer["failed"] is True
    assert answer["msg"].startswith(f"{tmp_path}/none.crt cannot be read: No such file or directory.")
    assert not (tmp_path / "etc").exists()


def test_a_directory_is_refused(write, tmp_path):
    assert "is no plain file" in write(str(tmp_path))["msg"]


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o606])
def test_a_key_that_others_may_use_is_refused(write, key, mode):
    key.chmod(mode)
    answer = write(str(key))
    assert f"has the mode {mode:04o}" in answer["msg"]
    assert f"chmod o= {key}" in answer["msg"]


def test_a_file_that_changed_after_the_container_started_is_newer(write, certificate):
    write(str(certificate))
    assert write(str(certificate), newer_than=LONG_AFTER)["newer"] is False
    assert write(str(certificate), newer_than=LONG_AGO)["newer"] is True


def test_a_renewed_certificate_with_an_old_time_is_newer(write, certificate, tmp_path):
    write(str(certificate))
    config = tmp_path / "etc" / "config.yaml"
    for path in (config, certificate):
        os.utime(path, (0, 0))
    assert write(newer_than=LONG_AGO)["newer"] is False
    assert write(str(certificate), newer_than=LONG_AGO)["newer"] is True


def test_a_link_counts_as_what_it_points_to(write, key, tmp_path):
    link = tmp_path / "live.key"
    link.symlink_to(key)
    assert write(str(link))["changed"] is True
