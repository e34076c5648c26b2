"""Saved models: what is written when, what loading gives, what is refused.

What TensorFlow 2.21's ``compat.v1.saved_model`` does, with messages in the words of 1.15.
"""

import json
import os

import numpy as np
import pytest
import zarr

import daskvars.v1 as tf
from tests import clusters

SERVE = [tf.saved_model.tag_constants.SERVING]


@pytest.fixture
def place(tmp_path):
    """A directory with a model of two graphs, a file that it reads and a main op."""
    source = tmp_path / "vocab.txt"
    source.write_text("a\nb\n")
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=[[1.0], [2.0]])
        y = tf.matmul(x, w, name="y")
        path = tf.constant(str(source), name="path")
        text = tf.get_variable("text", initializer="", collections=["local_variables"])
        sess.run(tf.global_variables_initializer())
        builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "model"))
        builder.add_meta_graph_and_variables(
            sess,
            SERVE,
            {"serving_default": tf.saved_model.predict_signature_def({"x": x}, {"y": y})},
            assets_collection=[path],
            main_op=tf.group(tf.assign(text, tf.read_file(path)), name="main"),
        )
        assert not tf.saved_model.maybe_saved_model_directory(str(tmp_path / "model"))
        with graph.as_default():
            builder.add_meta_graph(["train", "gpu"])
        assert builder.save() == os.fsencode(tmp_path / "model" / "saved_model.json")
        assert graph.get_collection("saved_model_main_op") == []
    source.unlink()
    os.rename(tmp_path / "model", tmp_path / "moved")
    return str(tmp_path / "moved")


def test_a_model_is_a_directory_that_can_be_moved(place):
    assert sorted(os.listdir(place)) == ["assets", "saved_model.json", "variables"]
    assert os.listdir(os.path.join(place, "assets")) == ["vocab.txt"]
    assert tf.saved_model.loader.maybe_saved_model_directory(place)
    stored = zarr.open_group(os.path.join(place, "variables", "variables"), mode="r")
    assert stored["w"][:].tolist() == [[1.0], [2.0]]
    for scope, prefix in ((None, ""), ("in", "in/")):
        with tf.Graph().as_default(), tf.Session() as sess:
            found = tf.saved_model.loader.load(sess, SERVE, place, import_scope=scope)
            signature = found.signature_def["serving_default"]
            assert signature.method_name == "tensorflow/serving/predict"
            (given,) = signature.inputs.values()
            assert (given.name, given.dtype) == ("x:0", tf.float32.as_datatype_enum)
            assert [dim.size for dim in given.tensor_shape.dim] == [-1, 2]
            fed = {prefix + given.name: [[1.0, 2.0]]}
            assert sess.run(prefix + signature.outputs["y"].name, fed).tolist() == [[5.0]]
            assert sess.run(f"{prefix}text:0") == b"a\nb\n"  # by the main op, of the file moved


def test_a_model_as_a_function(place):
    predict = tf.contrib.predictor.from_saved_model(place)
    assert predict({"x": [[1.0, 2.0]]})["y"].tolist() == [[5.0]]
    with pytest.raises(ValueError, match=r"Got unexpected keys in input_dict: \['z'\]"):
        predict({"z": 1})
    named = tf.contrib.predictor.from_saved_model(
        place, input_names={"a": "x:0"}, output_names={"b": "y:0"}, tags="serve"
    )
    assert named({"a": [[1.0, 0.0]]})["b"].tolist() == [[1.0]]
    with pytest.raises(ValueError, match=r"Available signatures are \['serving_default'\]"):
        tf.contrib.predictor.from_saved_model(place, "serving")


def test_a_graph_is_chosen_by_all_its_tags(place):
    with tf.Graph().as_default(), tf.Session() as sess:
        found = tf.saved_model.load(sess, {"gpu", "train"}, place)
        assert found.meta_info_def.tags == ["train", "gpu"]
        assert sess.run("y:0", {"x:0": [[1.0, 0.0]]}).tolist() == [[1.0]]
    with tf.Graph().as_default(), tf.Session() as sess:
        words = r"MetaGraphDef associated with tags 'train' could not be found.*\['serve'\]"
        with pytest.raises(RuntimeError, match=words):
            tf.saved_model.loader.load(sess, ["train"], place)


def test_no_model_and_a_damaged_one(place, tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        with pytest.raises(OSError, match="SavedModel file does not exist at"):
            tf.saved_model.loader.load(sess, SERVE, str(tmp_path / "elsewhere"))
        assert not (tmp_path / "elsewhere").exists()
        file = os.path.join(place, "saved_model.json")
        with open(file) as opened:
            data = json.load(opened)
        first = data["meta_graphs"][0]
        for altered in (
            {**data, "saved_model_schema_version": 2},
            {**data, "meta_graphs": [{**first, "assets": [{"file": "../up", "tensor": {}}]}]},
            {**data, "meta_graphs": [{**first, "signatures": {"a": {"method": 3}}}]},
            {**data, "meta_graphs": [{**first, "signatures": {"a": []}}]},
            [data],
        ):
            with open(file, "w") as opened:
                json.dump(altered, opened)
            with pytest.raises(OSError, match="Cannot parse file"):
                tf.saved_model.loader.load(sess, SERVE, place)
        assert graph.get_operations() == []


def places_of(data, path=()):
    """Yield the paths of all values in JSON data but in graphs, which have tests of their own."""
    yield path
    items = enumerate(data) if isinstance(data, list) else getattr(data, "items", tuple)()
    for key, value in items:
        if key != "graph":
            yield from places_of(value, (*path, key))


@pytest.mark.parametrize("value", [None, -1, "x", [], {}, [3], {"a": 3}])
def test_what_is_altered_is_an_error_or_harmless(place, value):
    file = os.path.join(place, "saved_model.json")
    with open(file) as opened:
        sound = json.load(opened)
    del sound["crc32"]  # which would tell of all of them
    text = json.dumps(sound)
    for path in [path for path in places_of(sound) if path]:
        altered = json.loads(text)
        around = altered
        for key in path[:-1]:
            around = around[key]
        around[path[-1]] = value
        with open(file, "w") as opened:
            opened.write(json.dumps(altered))  # `dump` would write it piece by piece
        with tf.Graph().as_default(), tf.Session() as sess:
            try:
                tf.saved_model.load(sess, SERVE, place)
            except (OSError, RuntimeError, ValueError, KeyError, tf.errors.OpError):
                continue


def test_order_and_arguments(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.get_variable("x", initializer=1.0)
        builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "model"))
        with pytest.raises(AssertionError, match="has not been saved yet"):
            builder.add_meta_graph(SERVE)
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value x"):
            builder.add_meta_graph_and_variables(sess, SERVE)
        sess.run(x.initializer)
        unnamed = tf.saved_model.TensorInfo()
        signature = tf.saved_model.build_signature_def({"x": unnamed}, {}, "m")
        with pytest.raises(AssertionError, match=r"must have the name and dtype.*x of 'a'"):
            builder.add_meta_graph_and_variables(sess, SERVE, {"a": signature})
        with pytest.raises(TypeError, match="main_op needs to be an Operation: 3"):
            builder.add_meta_graph_and_variables(sess, SERVE, main_op=3)
        with pytest.raises(TypeError, match="is no scalar string constant"):
            builder.add_meta_graph_and_variables(sess, SERVE, assets_collection=[x.value()])
        missing = tf.constant(str(tmp_path / "missing"))
        with pytest.raises(ValueError, match="there is no such file"):
            builder.add_meta_graph_and_variables(sess, SERVE, assets_collection=[missing])
        builder.add_meta_graph_and_variables(sess, SERVE)
        with pytest.raises(AssertionError, match="has already been saved"):
            builder.add_meta_graph_and_variables(sess, SERVE)
        with pytest.raises(AssertionError, match="already exists, and isn't empty"):
            tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "model"))


def test_signatures():
    with tf.Graph().as_default():
        x, text = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.string, [None])
        utils = tf.saved_model.signature_def_utils
        for call, words in (
            (lambda: utils.regression_signature_def(None, x), "Regression examples cannot be None"),
            (lambda: utils.regression_signature_def(x, x), "Regression examples must be a string"),
            (lambda: utils.regression_signature_def(text, None), "predictions cannot be None"),
            (lambda: utils.regression_signature_def(text, text), "output must be a float Tensor"),
            (
                lambda: utils.classification_signature_def(text, None, None),
                "Classification classes and scores cannot both be None",
            ),
            (lambda: utils.classification_signature_def(text, x, None), "classes must be a string"),
            (
                lambda: utils.classification_signature_def(text, None, text),
                "scores must be a float",
            ),
            (lambda: utils.predict_signature_def({}, {"y": x}), "Prediction inputs cannot be None"),
            (lambda: utils.predict_signature_def({"x": x}, None), "Prediction outputs cannot be"),
        ):
            with pytest.raises(ValueError, match=words):
                call()
        valid = [
            utils.predict_signature_def({"x": x}, {"y": x}),
            utils.regression_signature_def(text, x),
            utils.classification_signature_def(text, text, x),
        ]
        assert [found.method_name.rpartition("/")[2] for found in valid] == [
            "predict",
            "regress",
            "classify",
        ]
        assert all(map(utils.is_valid_signature, valid))
        assert not utils.is_valid_signature(utils.build_signature_def({}, {}, "x"))
        sparse = tf.sparse_placeholder(tf.float32, [3, 4], name="sparse")
        info = tf.saved_model.utils.build_tensor_info(sparse)
        assert (info.name, info.coo_sparse.values_tensor_name) == ("", sparse.values.name)
        again = tf.saved_model.utils.get_tensor_from_tensor_info(info)
        assert again.indices is sparse.indices


def test_sparse_signatures_and_no_variables(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.sparse_placeholder(tf.float32, [2, 2], name="x")
        y = tf.sparse_tensor_to_dense(x, name="y")
        tf.saved_model.simple_save(sess, str(tmp_path / "m"), {"x": x}, {"y": y})
    with tf.Graph().as_default(), tf.Session() as sess:
        found = tf.saved_model.load(sess, SERVE, str(tmp_path / "m"))
        signature = found.signature_def["serving_default"]
        given = tf.saved_model.get_tensor_from_tensor_info(signature.inputs["x"])
        fed = {given: ([[0, 1]], [3.0], [2, 2])}
        assert sess.run(signature.outputs["y"].name, fed).tolist() == [[0.0, 3.0], [0.0, 0.0]]


@pytest.mark.cluster
def test_a_model_is_served_by_workers(tmp_path):
    wanted = np.arange(16, dtype="f4").reshape(8, 2)
    with tf.Graph().as_default(), tf.Session() as sess:
        table = tf.get_variable("table", initializer=wanted, chunks=(4, 2))
        ids = tf.placeholder(tf.int32, [None], name="ids")
        rows = tf.nn.embedding_lookup(table, ids)
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, str(tmp_path / "m"), {"ids": ids}, {"rows": rows})
    with (
        clusters.running() as client,
        client.as_current(),
        tf.Graph().as_default(),
        tf.Session() as sess,
    ):
        signature = tf.saved_model.load(sess, SERVE, str(tmp_path / "m")).signature_def[
            "serving_default"
        ]
        found = sess.run(signature.outputs["rows"].name, {signature.inputs["ids"].name: [7, 0]})
        assert found.tolist() == wanted[[7, 0]].tolist()
