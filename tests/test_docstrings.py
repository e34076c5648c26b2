"""What the docstrings of public names say: arguments, shapes or dtypes, and what is raised.

The rules look at the code, so that a text cannot say less than it does: a function that raises says
what, by the names in its `raise` statements; each argument has an entry in "Args" that says more
than its name, or is written as code in what is said; and a tensor is returned with its shape or
dtype, in the summary or in "Returns".
"""

import ast
import inspect
import re
import textwrap

import pytest

from tests.test_public_surface import all_public_objects

PUBLIC = all_public_objects()
FUNCTIONS = {name: value for name, value in PUBLIC.items() if not inspect.isclass(value)}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}


def doc_of(value):
    return inspect.getdoc(value) or ""


def section(doc, title):
    """Return a section of a docstring, to the next line that is not indented."""
    found = re.search(rf"(?m)^{title}:\n((?:[ ].*\n?|\n)*)", doc + "\n")
    return found[1] if found else ""


# -- what is raised ----------------------------------------------------------------------------


def body_of(function):
    """Return the syntax tree of a function as it was written; None where a class made it."""
    if inspect.unwrap(function).__code__.co_filename.startswith("<"):
        return None
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    (node,) = ast.parse(source).body
    return node if isinstance(node, ast.FunctionDef) else None


def raised_in(node):
    """Yield the names of the classes that a function's own body raises, as calls.

    What functions within it raise happens later, and what it catches itself does not happen.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(child, ast.Try):
            caught = {
                n.id
                for h in child.handlers
                if h.type
                for n in ast.walk(h.type)
                if isinstance(n, ast.Name)
            }
            inner = ast.Module(child.body, [])
            yield from (name for name in raised_in(inner) if name not in caught)
            for part in (*child.handlers, *child.orelse, *child.finalbody):
                yield from raised_in(ast.Module([part], []))
            continue
        if isinstance(child, ast.Raise) and isinstance(child.exc, ast.Call):
            called = child.exc.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if re.fullmatch(r"[A-Z]\w+", name):
                yield name
        yield from raised_in(child)


def said_to_be_raised(doc):
    """Return what a docstring says is raised: in its section, or in a sentence of the summary."""
    sentences = re.findall(r"Raises? [^.]*\.", re.sub(r"\s+", " ", doc.partition("Raises:")[0]))
    return set(re.findall(r"\w+", section(doc, "Raises") + " ".join(sentences)))


def unsaid(doc, functions):
    bodies = [body for body in map(body_of, functions) if body is not None]
    return {name for body in bodies for name in raised_in(body)} - said_to_be_raised(doc)


def members_of(cls):
    """Yield (name, function) for the public methods and properties that a class defines."""
    for name, member in vars(cls).items():
        function = getattr(member, "__func__", getattr(member, "fget", member))
        is_ours = str(getattr(function, "__module__", "")).startswith("daskvars")
        if name[0] != "_" and inspect.isfunction(function) and is_ours:
            yield name, function


def makers_of(cls):
    """Return the functions that a class makes its instances with, as far as it defines them."""
    makers = [vars(cls).get(name) for name in ("__init__", "__new__", "__post_init__")]
    makers = [getattr(maker, "__func__", maker) for maker in makers]
    return [m for m in makers if getattr(m, "__module__", None) == cls.__module__]


def test_functions_say_what_they_raise():
    found = {name: unsaid(doc_of(value), [value]) for name, value in FUNCTIONS.items()}
    assert not {name: errors for name, errors in found.items() if errors}


def test_classes_and_their_methods_say_what_they_raise():
    found = {}
    for name, cls in CLASSES.items():
        found[name] = unsaid(doc_of(cls), makers_of(cls))
        for member, function in members_of(cls):
            found[f"{name}.{member}"] = unsaid(doc_of(getattr(cls, member)), [function])
    assert not {name: errors for name, errors in found.items() if errors}


# -- arguments ---------------------------------------------------------------------------------

EMPTY = {"a", "an", "the", "of", "its", "see", "to", "this", "value", "argument", "accepted"}


def arguments_said(doc):
    """Return what a docstring says of arguments, by name; entries may be shared."""
    said = {}
    text = "".join(textwrap.dedent(section(doc, title)) for title in ("Args", "Attributes"))
    for entry in re.findall(r"(?m)^\S.*(?:\n .*|\n(?=\n ))*", text):
        names, _, words = entry.partition(":")
        for name in names.split(","):
            said[name.strip(" *\n")] = words
    return said


def says_more(name, words):
    """Return whether a text says something that the name of the argument does not."""
    own = {*name.lower().split("_"), name.lower()}
    own |= {word + "s" for word in own} | {word.rstrip("s") for word in own}
    return bool({w.lower() for w in re.findall(r"\w+", words)} - EMPTY - own)


def referred_to(value, doc):
    """Yield the docstrings of the public names that a docstring refers to: "See `matmul`"."""
    text = re.sub(r"\s+", " ", doc)
    for name in re.findall(
        r"(?:[Ss]ee|[Aa]s (?:of|for)|arguments of|(?:inverse|name|same) (?:of|as)) `([\w.]+)`", text
    ):
        own, last = f"{value.__module__}.{name}", f".{name.rpartition('.')[2]}"
        names = [own] if own in PUBLIC else [n for n in PUBLIC if n.endswith(last)]
        yield from (doc_of(PUBLIC[n]) for n in names)


def is_made_by_us(cls):
    return any(makers_of(base) for base in cls.__mro__ if base.__module__.startswith("daskvars"))


def left_out(value):
    """Return the arguments of which a docstring says nothing, nor one that it refers to.

    A class that is made as one that it derives from is told of there.
    """
    doc = doc_of(value)
    bases = value.__mro__[1:] if inspect.isclass(value) and not makers_of(value) else ()
    docs = [doc, *referred_to(value, doc), *map(doc_of, bases)]
    entries = [arguments_said(text) for text in docs]
    code = " ".join(re.findall(r"``[^`]+``|`[^`]+`", doc.partition(">>> ")[0]))
    return [
        name
        for name in inspect.signature(value).parameters
        if name[0] != "_"
        and not any(says_more(name, said.get(name, "")) for said in entries)
        and not re.search(rf"\b{name}\b", code)
    ]


def test_functions_and_classes_tell_of_each_argument():
    classes = {name: cls for name, cls in CLASSES.items() if is_made_by_us(cls)}
    found = {name: left_out(value) for name, value in (FUNCTIONS | classes).items()}
    assert not {name: arguments for name, arguments in found.items() if arguments}


# -- results -----------------------------------------------------------------------------------

SHAPE_OR_DTYPE = re.compile(
    r"\[[^\]]*\]|\b(scalar|shapes?|shaped|dtypes?|typed|bool|strings?|complex|floating|integer|u?int\d+|b?float\d+)\b"
)


def says_what_is_returned(doc):
    """Return whether shape or dtype are in the section "Returns", or before the sections."""
    before = re.split(r"(?m)^(?:Args|Attributes|Returns|Raises|Source):|^>>> ", doc)[0]
    return SHAPE_OR_DTYPE.search(before + section(doc, "Returns"))


def may_return_tensors(function):
    """Return whether a function is said to return tensors, or anything."""
    result = str(inspect.signature(function).return_annotation)
    return re.search(r"\b(Tensor|SparseTensor|Pair|IndexedSlices|Any)\b", result) and not re.search(
        r"\b(Callable|dict|NDArray)\b", result
    )


def lacks_the_result(function):
    doc = doc_of(function)
    if not may_return_tensors(function):
        return False
    return not any(map(says_what_is_returned, (doc, *referred_to(function, doc))))


# What they return is no tensor, or whatever they are given.
NO_TENSORS = """
    control_dependencies function get_collection get_collection_ref get_default_session
    get_losses get_output_classes get_regularization_losses import_graph_def
    bucketized_column start_queue_runners nest.flatten nest.map_structure nest.pack_sequence_as
"""


def test_tensors_are_returned_with_their_shape_or_dtype():
    others = tuple(f".{name}" for name in NO_TENSORS.split())
    lacking = [name for name, value in FUNCTIONS.items() if lacks_the_result(value)]
    assert not [name for name in lacking if not name.endswith(others)]


# -- the rules themselves ----------------------------------------------------------------------


def told(rows, num_rows=None):
    """Return something.

    Args:
      rows: the rows.
      num_rows: the number of rows of a batch, by default all.

    Raises:
      TypeError: it is none.
    """
    try:
        raise KeyError("caught here")
    except KeyError:
        pass
    if rows is None:
        raise ValueError("told of nowhere")
    raise TypeError("told of")


def referring(rows) -> "Tensor":  # noqa: F821
    """Return the rows. See `no_such_name`."""
    return [lambda: (_ for _ in rows), rows]


def test_what_says_nothing_is_found():
    assert unsaid(doc_of(told), [told]) == {"ValueError"}
    assert left_out(told) == ["rows"], "that it is what it is called says nothing"
    assert left_out(referring) == ["rows"], "nobody else tells of it"
    assert lacks_the_result(referring)
    assert not unsaid(doc_of(referring), [referring])


@pytest.mark.parametrize(
    "name, words, does",
    [
        ("loss", " the loss.", False),
        ("batch_size", " size of the batch.", False),
        ("batch_size", " rows of a batch.", True),
        ("x", "", False),
        ("x", " [...] floating.", True),
    ],
)
def test_an_entry_says_more_than_its_name(name, words, does):
    assert says_more(name, words) is does
