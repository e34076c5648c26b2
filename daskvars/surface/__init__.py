"""What users see of functions, classes and modules: arguments, records, names, how they are shown.

- ``signatures``: a *family* is functions that share arguments; these, their defaults and what is
  said of them are declared once. A member is written as the function of what is its own.
- ``accepted``: arguments that are taken for TensorFlow's sake and change nothing; one table says
  which and why, and a function that is given one says so, once.
- ``messages``: TensorFlow's protocol buffers as records with declared fields.
- ``forwarding``: properties that are those of a part; ``required``: methods and properties that a
  subclass must have.
- ``names_of_v1``: names that are in `daskvars.v1` alone, for the error of who looks for them
  elsewhere; ``loading``: what the package has not loaded yet, loaded when it is missed, and no
  garbage collected meanwhile.
- ``notebooks``: how objects are shown there; ``one_line``: how in a line of a console;
  ``progress_bars``: how far long work is.

The rule: nothing here knows what a graph is, or computes with an array, so every room above
declares what it shows with the same few words, and tests of all signatures, docstrings and warnings
have one place to look at. What is said in one place cannot come to differ in ten.
"""
