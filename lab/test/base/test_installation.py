"""What a message tells to do where a part of Reap is missing: it depends on who installed it, and how."""

import json
import sys
from importlib import metadata

import pytest

from reap.base import installation


class Distribution:
    def __init__(self, kept):
        self.kept = kept

    def read_text(self, name):
        assert name == "direct_url.json"
        return self.kept


@pytest.fixture
def installed_from(monkeypatch):
    def from_url(url):
        kept = json.dumps({"url": url}) if url else None
        monkeypatch.setattr(metadata, "distribution", lambda _: Distribution(kept))

    return from_url


def test_from_a_checkout_it_is_made_there(tmp_path, installed_from):
    place = tmp_path / "a checkout"
    (place / "setup").mkdir(parents=True)
    (place / "setup/install").touch()
    installed_from(place.as_uri())
    assert installation.again() == f"cd '{place}' && rm -f .venv/.*.stamp && make install"


def test_a_checkout_that_is_gone_is_not_named(tmp_path, installed_from):
    installed_from((tmp_path / "gone").as_uri())
    assert installation.again() == f"{sys.executable} -m pip install --force-reinstall reap-lab"


def test_from_a_wheel_pip_takes_that_file(tmp_path, installed_from):
    wheel = tmp_path / "reap_lab-0.1.0-cp311-abi3-manylinux_2_35_x86_64.whl"
    wheel.touch()
    installed_from(wheel.as_uri())
    assert installation.again() == f"{sys.executable} -m pip install --force-reinstall {wheel}"


@pytest.mark.parametrize("url", ["", "https://example.org/reap_lab.whl"])
def test_from_an_index_pip_takes_the_name(installed_from, url):
    installed_from(url)
    assert installation.again() == f"{sys.executable} -m pip install --force-reinstall reap-lab"


def test_without_metadata_pip_takes_the_name(monkeypatch):
    def unknown(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", unknown)
    assert installation.again().endswith("pip install --force-reinstall reap-lab")


def test_of_the_debian_package_apt_does_it(monkeypatch, tmp_path):
    monkeypatch.setattr(installation, "_DEBIAN", tmp_path)
    monkeypatch.setattr(installation, "_PACKAGE", tmp_path / "reap")
    assert installation.again() == "sudo apt-get install --reinstall reap"
