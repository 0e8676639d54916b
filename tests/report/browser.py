"""Chromium without network, for tests that look at a page as people do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@contextmanager
def chromium(folder: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> Iterator[Any]:
    """A browser with a profile of its own, which saves what it downloads to ``folder``; skips where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium: pip install selenium")
    browser, helper = (shutil.which(name) for name in ("chromium", "chromedriver"))
    if browser is None or helper is None:
        pytest.skip("needs chromium and chromedriver: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(helper))
    try:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        # Without motion, since a click on what is still scrolling misses it.
        wishes = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        yield driver
    finally:
        driver.quit()


def requests_of(driver: Any) -> list[str]:
    """Addresses that the page asked for, since the last time."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


def axe_source(folder: Path) -> str:
    """The text of axe-core: the file that ``$AXE_CORE`` names, or else the npm package; skips without either."""
    named = os.environ.get("AXE_CORE")
    if named:
        return Path(named).read_text(encoding="utf-8")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs axe-core: apt-get install npm, or set AXE_CORE to axe.min.js")
    done = subprocess.run(
        [npm, "pack", "axe-core", "--silent"], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    if done.returncode:
        pytest.skip("needs axe-core: npm pack cannot reach it; set AXE_CORE to axe.min.js")
    with tarfile.open(folder / done.stdout.split()[-1]) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode("utf-8")


def faults(driver: Any, axe: str) -> list[tuple[str, str]]:
    """What axe finds that is serious or critical: the rule, and the first element."""
    # By the debugger, since the page's policy lets no script in.
    driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe})
    found = driver.execute_async_script(
        "const done = arguments[0]; axe.run(document).then((r) => done(r.violations), (e) => done(String(e)));"
    )
    assert isinstance(found, list), found
    return [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]
