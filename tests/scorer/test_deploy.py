"""The Dockerfile in examples/deploy, read line by line: no container engine is at hand where tests run."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")


@pytest.fixture(scope="module")
def steps() -> list[tuple[str, str]]:
    text = (ROOT / "examples/deploy/Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def test_the_image_holds_what_the_package_is_built_from(steps):
    """What is copied exists, and the build's README, license and package are among it."""
    copied = [name for word, rest in steps if word == "COPY" for name in rest.split()[:-1]]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {"pyproject.toml", "ragtrace", project["readme"], *project["license-files"]}

    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert needed <= set(copied)


def test_the_image_installs_an_extra_that_exists(steps):
    """The extra named in the image is declared, and brings the scorer."""
    (run,) = [rest for word, rest in steps if word == "RUN"]
    (name,) = re.findall(r"\.\[(\w+)\]", run)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]

    assert "ragtrace-adapter[score]" in extras[name]


def test_the_image_runs_as_a_user_of_its_own_with_a_state_it_owns(steps):
    """The user that is made is the one that runs, after the installation; the state is on its volume."""
    words = [word for word, _ in steps]
    values = dict(steps)
    (run,) = [rest for word, rest in steps if word == "RUN"]

    assert words.index("RUN") < words.index("USER") < words.index("ENTRYPOINT")
    assert f"useradd --create-home {values['USER']}" in run
    assert f"install -d -o {values['USER']} {values['VOLUME']}" in run
    assert f"RAGTRACE_STATE={values['VOLUME']}/" in values["ENV"]


def test_the_health_check_asks_where_the_scorer_listens(steps):
    """Port, address and check agree, and the check is a program that Python reads."""
    values = dict(steps)
    check = json.loads(values["HEALTHCHECK"].split("CMD", 1)[1])
    compile(check[2], "check", "exec")

    assert check[:2] == ["python", "-c"]
    assert f"RAGTRACE_SCORER_LISTEN=0.0.0.0:{values['EXPOSE']}" in values["ENV"]
    assert f"http://127.0.0.1:{values['EXPOSE']}/healthz" in check[2]


def test_the_commands_of_image_and_compose_file_are_known(steps):
    """The entry point, with each service's arguments, has only options that the command line knows."""
    entry = json.loads(dict(steps)["ENTRYPOINT"])
    page = (ROOT / "docs/scorer.md").read_text("utf-8")
    compose = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL).group(1))
    services = [service["command"] for service in compose["services"].values() if "build" in service]
    program = Path(sys.executable).with_name(entry[0])
    told = subprocess.run([program, *entry[1:], "--help"], capture_output=True, text=True, check=True).stdout
    options = {word for command in (entry, *services) for word in command if word.startswith("--")}

    assert [shlex.join(command[2:]) for command in services] == ["--role coordinator", "--role worker"]
    assert [option for option in options if option not in told] == []


@pytest.mark.soak
@pytest.mark.fresh_environment
def test_what_the_image_copies_can_be_installed_and_started(steps, tmp_path):
    """From nothing but the copied files the package installs, and the entry point starts."""
    copied = [name for word, rest in steps if word == "COPY" for name in rest.split()[:-1]]
    for name in copied:
        source, target = ROOT / name, tmp_path / "srv" / name
        target.parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    (run,) = [rest for word, rest in steps if word == "RUN"]
    wanted = shlex.split(run.split("&&")[0])[-1]
    entry = json.loads(dict(steps)["ENTRYPOINT"])
    subprocess.run([UV, "venv", "-q", "--python", sys.executable, tmp_path / "env"], check=True)
    folder = tmp_path / "env" / "bin"
    install = [UV, "pip", "install", "-q", "--python", folder / "python", wanted]
    subprocess.run(install, cwd=tmp_path / "srv", check=True)

    started = subprocess.run(
        [folder / entry[0], *entry[1:], "--distributed", "redis://127.0.0.1:1/0"],
        env={"LANGFUSE_BASE_URL": "http://127.0.0.1:1", "LANGFUSE_PUBLIC_KEY": "p", "LANGFUSE_SECRET_KEY": "s"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    assert started.returncode == 2
    assert started.stderr.splitlines()[-1].startswith("ragtrace: --distributed: Redis cannot be used")
