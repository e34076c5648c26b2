"""A page of code blocks: its sections, and how they are run."""

import contextlib
import doctest
import io
import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

PLACE = Path(__file__).resolve().parent
# A title, a rule, or a fenced block; what is in a fence is neither of the others.
PARTS = re.compile(
    r"^(?:## ([^\n]+)|---|```(\w+)(?: (\w+))?\n(.*?)^```)$", re.MULTILINE | re.DOTALL
)
ROLES = (None, "given", "right", "check")
FOLLOWING = {"text": "printed", "error": "error"}


def _without_blanks(text):
    """Return the text without blanks at the ends of lines, as editors leave a page."""
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())


@dataclass
class Step:
    """Code of one block, and what follows it on the page: what it prints, the error it ends in."""

    page: str
    line: int
    role: str | None
    code: str
    printed: str = ""
    error: str = ""

    def run(self, names, folder):
        """Execute the code and compare what it prints, and the error that it raises."""
        output, raised = io.StringIO(), ""
        code = textwrap.dedent(self.code).replace("/tmp/", f"{folder}/")
        program = compile("\n" * self.line + code, self.page, "exec")
        with contextlib.redirect_stdout(output):
            try:
                exec(program, names)  # noqa: S102
            except Exception as error:
                if not self.error:
                    raise
                kinds = {kind.__name__ for kind in type(error).__mro__}
                wanted = self.error.partition(":")[0]
                raised = f"{wanted if wanted in kinds else type(error).__name__}: {error}\n"
        for wanted, found in ((self.printed, output.getvalue()), (self.error, raised)):
            found = _without_blanks(found)
            same = doctest.OutputChecker().check_output(wanted, found, doctest.ELLIPSIS)
            assert same, f"{self.page}, line {self.line}\nwanted:\n{wanted}\nfound:\n{found}"


@dataclass
class Section:
    """What stands under one title: programs, each for a graph of its own."""

    page: str
    title: str
    programs: list = field(default_factory=list)

    @property
    def blocks(self):
        """The code blocks of the document itself."""
        return [step for program in self.programs for step in program if not step.role]

    def run(self, tf, folder):
        """Run the programs one after another in one folder."""
        for program in self.programs:
            with tf.Graph().as_default():
                names = {"__name__": "page", "tf": tf}
                for step in program:
                    step.run(names, folder)


def read(name):
    """Return the sections of a page."""
    text = (PLACE / name).read_text()
    sections = []
    for match in PARTS.finditer(text):
        title, kind, role, body = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        if title:
            sections.append(Section(name, title))
        if not kind:
            sections[-1].programs.append([])
        elif kind == "python":
            assert role in ROLES, f"{name}, line {line}: {role!r}"
            sections[-1].programs[-1].append(Step(name, line, role, body))
        else:
            setattr(sections[-1].programs[-1][-1], FOLLOWING[kind], body)
    return sections
