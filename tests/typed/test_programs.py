"""What type checkers say of programs that use the package, and what names it has for them."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

import daskvars as dv
import daskvars.v1 as tf
from tests import fresh
from tests.typed import cluster_training, eager_training, graph_training, stubs

PROGRAMS = [eager_training, graph_training, cluster_training]
ROOT = Path(__file__).resolve().parents[2]
# Of other packages mypy reads those whose types programs meet in the package's. To read all that
# these import, browsers' pages and shells, takes 15 s where nothing is in its cache.
MYPY = """
[mypy]
strict = true
follow_imports = skip
[mypy-daskvars.*,dask.*,distributed.*,numpy.*,zarr.*]
follow_imports = silent
"""


def checked(command, folder):
    """Run a type checker outside the checkout on copies of the programs and return what it says."""
    for program in PROGRAMS:
        shutil.copy(program.__file__, folder)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "MYPYPATH": str(ROOT), "PYTHONPATH": path}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_mypy_accepts_the_programs(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "mypy.ini").write_text(MYPY)
    options = ["--config-file=mypy.ini", f"--cache-dir={ROOT / '.mypy_cache/typed'}"]
    files = [f"{program.__name__.rpartition('.')[2]}.py" for program in PROGRAMS]
    code, said = checked([sys.executable, "-m", "mypy", *options, *files], tmp_path)
    assert code == 0, said


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_pyright_accepts_the_programs(tmp_path):
    pytest.importorskip("basedpyright")
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT)], "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable]
    code, said = checked(command, tmp_path)
    assert code == 0, said


def test_the_programs_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with dv.variable_scope("typed"):
        eager_training.main()
    graph_training.main()


@pytest.mark.cluster
def test_the_program_of_a_cluster_runs(tmp_path):
    rows = np.ones((64, 8), "float32")
    zarr.create_array(tmp_path / "rows.zarr", data=rows, chunks=(16, 8))
    cluster_training.main(tmp_path)


def test_stubs_are_what_the_module_has():
    written = {path.name: path.read_text() for path in stubs.FOLDER.glob("*.pyi")}
    assert written == stubs.texts(), "python -m tests.typed.stubs"


@pytest.mark.parametrize("name", ["", *dict(stubs.namespaces())])
def test_a_stub_names_what_the_namespace_has(name):
    text = (stubs.FOLDER / f"{name or '__init__'}.pyi").read_text()
    names = {a.asname for node in ast.walk(ast.parse(text)) for a in getattr(node, "names", ())}
    module = getattr(tf, name) if name else tf
    strings = {"COMPILER_VERSION", "GIT_VERSION", "VERSION"} if not name else set()
    assert names == {n for n in (module.__all__ if not name else vars(module)) if n[0] != "_"} - (
        strings
    )


@pytest.mark.slow
def test_namespaces_are_imported_as_modules_are():
    code = "import daskvars.v1.{0} as found, daskvars.v1 as tf; assert found is tf.{0}, found"
    fresh.run("\n".join(map(code.format, dict(stubs.namespaces()))))
