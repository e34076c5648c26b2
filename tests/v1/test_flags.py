"""Flags: the grammar of the command line, declarations, what is said of mistakes."""

import sys

import pytest
from absl import flags as absl_flags

from daskvars.v1 import app, flags
from tests import fresh


@pytest.fixture
def declared():
    values = flags.FlagValues()
    flags.DEFINE_string("s", "d", "A string.", flag_values=values)
    flags.DEFINE_integer("i", 3, "An integer.", flag_values=values, lower_bound=0)
    flags.DEFINE_float("f", 0.5, "A number.", flag_values=values)
    flags.DEFINE_bool("b", False, "A boolean.", flag_values=values)
    flags.DEFINE_list("l", ["a"], "A list.", flag_values=values)
    flags.DEFINE_enum("e", "x", ["x", "y"], "One of two.", flag_values=values)
    flags.DEFINE_multi_integer("m", [1], "Integers.", flag_values=values, short_name="n")
    flags.DEFINE_multi_string("ms", None, "Strings.", flag_values=values)
    return values


@pytest.mark.parametrize(
    ("arguments", "rest", "changed"),
    [
        (["--s=1", "x", "--i=2"], ["x"], {"s": "1", "i": 2}),
        (["--s", "1", "--b", "x"], ["x"], {"s": "1", "b": True}),
        (["-b", "-i", "4"], [], {"b": True, "i": 4}),
        (["--b", "--nob"], [], {"b": False}),
        (["--b=T", "--f", "1"], [], {"b": True, "f": 1.0}),
        (["--l=a,b, c"], [], {"l": ["a", "b", "c"]}),
        (["--l="], [], {"l": []}),
        (["--e=y", "--i=0x10"], [], {"e": "y", "i": 16}),
        (["--m=1", "-n", "2"], [], {"m": [1, 2], "n": [1, 2]}),
        (["--ms=a,b", "--ms=c"], [], {"ms": ["a,b", "c"]}),
        (["--", "--s=1"], ["--s=1"], {}),
        (["-", "--s=a=b"], ["-"], {"s": "a=b"}),
    ],
)
def test_the_command_line(declared, arguments, rest, changed):
    before = declared.flag_values_dict()
    assert declared(["program", *arguments]) == ["program", *rest]
    assert declared.flag_values_dict() == {**before, **changed}
    assert {name for name in declared if declared[name].present} >= set(changed)


@pytest.mark.parametrize(
    ("argument", "error", "words"),
    [
        ("--b=maybe", flags.IllegalFlagValueError, "--b=maybe: .*Non-boolean argument"),
        ("--nob=1", ValueError, "does not take an argument"),
        ("--i=1.5", flags.IllegalFlagValueError, "--i=1.5: invalid literal for int"),
        ("--i=-1", flags.IllegalFlagValueError, "--i=-1: -1 is not a non-negative integer"),
        ("--e=z", flags.IllegalFlagValueError, r"value should be one of <x\|y>"),
        ("--s", flags.Error, "Missing value for flag --s"),
        ("--nos", flags.UnrecognizedFlagError, "'nos'"),
        ("--zzz=1", flags.UnrecognizedFlagError, r"'zzz'.*tf\.app\.run\(\)"),
    ],
)
def test_mistakes_on_the_command_line(declared, argument, error, words):
    with pytest.raises(error, match=words):
        declared(["program", argument])


def test_unknown_flags_may_be_left_to_the_program(declared):
    rest = declared(["program", "--zz=1", "x", "--zy", "3", "--s=2", "--", "--s=3"], True)
    assert rest == ["program", "--zz=1", "x", "--zy", "3", "--", "--s=3"]
    assert declared.s == "2"


def test_values_are_attributes(declared, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["program", "--i=7"])
    assert not declared.is_parsed()
    assert declared.i == 7, "the command line is read when a value is asked for"
    declared.i = 8
    assert (declared.i, declared["i"].value, declared["i"].default) == (8, 8, 3)
    declared.set_default("f", 2)
    assert declared.f == 2.0
    assert "i" in declared
    assert len(declared) == len(list(declared)) == 9, "each name, short ones too"
    with pytest.raises(AttributeError, match=r"'ii' \(did you mean 'i'\?\)"):
        declared.ii  # noqa: B018
    with pytest.raises(flags.UnrecognizedFlagError, match="declare it"):
        declared.other = 1
    declared.unparse_flags()
    assert declared["i"].value == 3
    del declared.i
    assert "i" not in declared


def test_declarations(declared):
    with pytest.raises(flags.DuplicateFlagError, match="'s' is defined twice"):
        flags.DEFINE_integer("s", 1, "Again.", flag_values=declared)
    with pytest.raises(flags.IllegalFlagValueError, match="--w=abc"):
        flags.DEFINE_integer("w", "abc", "No integer.", flag_values=declared)
    flags.DEFINE_float(flag_name="old", default_value=1, docstring="", flag_values=declared)
    declared.mark_as_parsed()
    assert declared.old == 1.0
    assert "A string." in declared.get_help()
    assert "--[no]b" in declared.get_help()


def test_required_and_validated(declared):
    flags.DEFINE_string("data", None, "Where the data are.", flag_values=declared)
    flags.mark_flags_as_required(["data"], declared)
    flags.register_validator("f", lambda f: f < 1, "too large", declared)
    with pytest.raises(flags.IllegalFlagValueError, match=r"--data=None: .*other than None"):
        declared(["program"])
    assert declared(["program", "--data=d"]) == ["program"]
    with pytest.raises(flags.IllegalFlagValueError, match=r"--f=2\.?0?: too large"):
        declared.f = 2


def test_programs_of_tensorflow_1_4(declared, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["program", "--i=7", "more"])
    assert declared._parse_flags() == ["more"]
    assert sorted(getattr(declared, "__flags"))[:2] == ["b", "e"]


SCRIPT = """'''Trains a model.'''
import daskvars.v1 as tf
tf.app.flags.DEFINE_integer("steps", 3, "How many steps.")
FLAGS = tf.flags.FLAGS

def main(argv):
    print(FLAGS.steps, argv[1:])
    return 5

if __name__ == "__main__":
    tf.app.run()
"""


@pytest.mark.slow
def test_a_script(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    arguments = ("--steps=4", "--other=1", "data")
    done = fresh.python(tmp_path / "train.py", *arguments, after=fresh.PACKAGE)
    assert done.printed == "4 ['--other=1', 'data']\n", done.said
    assert done.status == 5


@pytest.mark.parametrize(
    ("argument", "words"),
    [("--i=x", "FATAL Flags parsing error: flag --i=x"), ("--help", "--s: A string.|'d'")],
)
def test_a_program_that_does_not_start(declared, monkeypatch, capsys, argument, words):
    monkeypatch.setattr(flags, "FLAGS", declared)
    with pytest.raises(SystemExit) as left:
        app.run(main=lambda argv: 0, argv=["program", argument])
    assert left.value.code == 1
    told = "".join(capsys.readouterr())
    assert all(word in told for word in words.split("|")), told


def test_run_takes_the_program_and_its_arguments(monkeypatch):
    seen = []
    with pytest.raises(SystemExit) as left:
        app.run(main=seen.append, argv=["program", "a"])
    assert (seen, left.value.code) == ([["program", "a"]], None)
    monkeypatch.delattr(sys.modules["__main__"], "main", raising=False)
    with pytest.raises(AttributeError, match=r"tf\.app\.run\(main\)"):
        app.run(argv=["program"])


def test_flags_of_absl_and_of_tensorflow_are_one_set(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["program", "--from_absl=2"])
    parsed = flags.FLAGS.is_parsed()
    absl_flags.DEFINE_integer("from_absl", 1, "Declared by another library.")
    flags.DEFINE_string("from_tf", "x", "Declared by the program.")
    try:
        absl_flags.FLAGS.unparse_flags()
        with pytest.raises(absl_flags.UnparsedFlagAccessError):
            absl_flags.FLAGS.from_tf  # noqa: B018
        assert flags.FLAGS.from_absl == 2, "the command line is read when a value is asked for"
        assert absl_flags.FLAGS.from_tf == "x"
        assert flags.FLAGS.find_module_defining_flag("from_tf") == __name__
        with pytest.raises(absl_flags.DuplicateFlagError, match="'from_tf' is defined twice"):
            absl_flags.DEFINE_string("from_tf", "y", "Again.")
    finally:
        del flags.FLAGS.from_absl, flags.FLAGS.from_tf
        absl_flags.FLAGS.unparse_flags()
        if parsed:
            flags.FLAGS.mark_as_parsed()
    assert "from_tf" not in absl_flags.FLAGS
