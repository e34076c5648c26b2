"""What TensorFlow's distributions give: ``python -m tests.distributions.cases`` writes the file.

It is run by a Python that has TensorFlow, in the root of the checkout; the tests read the file.
"""

import json
from pathlib import Path

PATH = Path(__file__).with_name("tensorflow.json")
# Class -> (arguments of several distributions, values).
CASES = {
    "Normal": ([{"loc": [0.0, -1.0], "scale": 2.0}], [0.5, -70.0, 7.0]),
    "Laplace": ([{"loc": [0.0, -1.0], "scale": 2.0}], [0.5, -70.0, 7.0]),
    "Uniform": ([{"low": [0.0, -1.0], "high": 2.0}], [0.5, -0.5, 3.0]),
    "Exponential": ([{"rate": [0.5, 2.0]}], [0.25, 3.0]),
    "Gamma": ([{"concentration": [0.5, 3.0], "rate": 2.0}], [0.25, 3.0]),
    "Beta": ([{"concentration1": [0.5, 3.0], "concentration0": 2.0}], [0.25, 0.75]),
    "StudentT": ([{"df": [0.5, 1.5, 7.0], "loc": 1.0, "scale": 2.0}], [0.25, -3.0]),
    "Bernoulli": ([{"probs": [0.25, 0.5]}, {"logits": [-1.0, 30.0]}], [0, 1]),
    "Categorical": ([{"probs": [[0.25, 0.75], [0.5, 0.5]]}, {"logits": [1.0, 0.0]}], [0, 1]),
    "Dirichlet": ([{"concentration": [4.0, 2.0, 3.0]}], [[0.2, 0.3, 0.5]]),
    "DirichletMultinomial": (
        [{"total_count": 3.0, "concentration": [4.0, 2.0, 3.0]}],
        [[1.0, 2.0, 0.0]],
    ),
    "Multinomial": ([{"total_count": 3.0, "probs": [[0.25, 0.75], [0.5, 0.5]]}], [[1.0, 2.0]]),
}
OF_VALUES = ["log_prob", "prob", "cdf", "log_cdf", "survival_function", "log_survival_function"]
STATISTICS = ["mean", "variance", "stddev", "covariance", "mode", "entropy"]
DIVERGENCES = {
    "Normal": [{"loc": 0.5, "scale": 2.0}, {"loc": -1.0, "scale": 3.0}],
    "Bernoulli": [{"probs": 0.25}, {"probs": 0.5}],
    "Categorical": [{"logits": [1.0, 0.0, -2.0]}, {"logits": [0.0, 0.5, 1.0]}],
    "Gamma": [{"concentration": 2.0, "rate": 1.0}, {"concentration": 3.0, "rate": 0.5}],
    "Beta": [
        {"concentration1": 2.0, "concentration0": 1.0},
        {"concentration1": 3.0, "concentration0": 0.5},
    ],
    "Dirichlet": [{"concentration": [1.0, 2.0, 3.0]}, {"concentration": [2.0, 2.0, 0.5]}],
}


def results(distributions, run):
    """Return name -> result of everything above, None for what there is none of."""
    found = {}

    def keep(name, make):
        try:
            found[name] = make()
        except NotImplementedError:
            found[name] = None

    for name, (each, values) in CASES.items():
        for number, arguments in enumerate(each):
            made = getattr(distributions, name)(**arguments)
            key = f"{name}.{number}"
            found[f"{key}.shapes"] = [made.batch_shape.as_list(), made.event_shape.as_list()]
            for statistic in STATISTICS:
                keep(f"{key}.{statistic}", lambda m=made, s=statistic: run(getattr(m, s)()))
            for function in OF_VALUES:
                for value in values:
                    keep(
                        f"{key}.{function}({value})",
                        lambda m=made, f=function, v=value: run(getattr(m, f)(v)),
                    )
    for name, (a, b) in DIVERGENCES.items():
        cls = getattr(distributions, name)
        found[f"{name}.kl"] = run(distributions.kl_divergence(cls(**a), cls(**b)))
        found[f"{name}.kl_method"] = run(cls(**a).kl_divergence(cls(**b)))
        found[f"{name}.cross_entropy"] = run(cls(**a).cross_entropy(cls(**b)))
    return found


if __name__ == "__main__":
    import tensorflow.compat.v1 as tensorflow

    with tensorflow.Session() as session:
        made = results(tensorflow.distributions, lambda t: session.run(t).tolist())
    PATH.write_text(json.dumps(made, indent=0) + "\n")
