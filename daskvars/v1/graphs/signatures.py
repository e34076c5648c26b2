"""What a saved model says of its inputs and outputs: signatures, tensors, files, as plain data.

The fields are those of TensorFlow's protocol buffers, as far as they mean something here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from daskvars.dtypes import as_dtype
from daskvars.graph.records.attribute_json import shape_json, shape_of, shortened
from daskvars.graph.records.node_def import Dim, Shape


@dataclass
class CooSparse:
    """The tensors that a sparse tensor is made of, by their names."""

    values_tensor_name: str = ""
    indices_tensor_name: str = ""
    dense_shape_tensor_name: str = ""


@dataclass
class TensorInfo:
    """What is known of a tensor.

    Attributes:
      name: its name in the graph; "" for a sparse one.
      dtype: number of its dtype, `DType.as_datatype_enum`.
      tensor_shape: its static shape.
      coo_sparse: the parts of a sparse tensor.

    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None, 4], "x")
    ...     info = tf.saved_model.build_tensor_info(x)
    >>> info.name, tf.as_dtype(info.dtype), [dim.size for dim in info.tensor_shape.dim]
    ('x:0', tf.float32, [-1, 4])
    """

    name: str = ""
    dtype: int = 0
    tensor_shape: Shape = field(default_factory=Shape)
    coo_sparse: CooSparse | None = None

    def HasField(self, name: str) -> bool:
        """Return whether a field is set."""
        return bool(getattr(self, name))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tensors that it stands for."""
        parts = self.coo_sparse
        return (self.name,) if parts is None else tuple(vars(parts).values())

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        shape = self.tensor_shape
        sizes = None if shape.unknown_rank else [None if d.size < 0 else d.size for d in shape.dim]
        parts = None if self.coo_sparse is None else list(self.names)
        return {
            "name": self.name,
            "dtype": as_dtype(self.dtype).name,
            "shape": shape_json(None if sizes is None else tuple(sizes)),
            "sparse": parts,
        }

    @classmethod
    def from_json(cls, data: Any) -> TensorInfo:
        """Return what JSON data describes. Raises ValueError where it is no such thing."""
        if not isinstance(data, dict) or data.keys() != {"name", "dtype", "shape", "sparse"}:
            raise ValueError(f"{shortened(data)} where a tensor of a signature belongs")
        name, parts = data["name"], data["sparse"]
        texts = [name] if parts is None else [name, *_list(parts)]
        if not all(isinstance(text, str) for text in texts) or len(texts) not in (1, 4):
            raise ValueError(f"{shortened(data)} where a tensor of a signature belongs")
        try:
            dtype = as_dtype(data["dtype"])
        except TypeError as error:
            raise ValueError(f"tensor {shortened(name)} of a signature: {error}") from None
        sparse = None if parts is None else CooSparse(*texts[1:])
        return cls(name, dtype.as_datatype_enum, shape_record(shape_of(data["shape"])), sparse)


def shape_record(shape: Any) -> Shape:
    """Return a static shape, None where the rank is not known, as a record."""
    if shape is None:
        return Shape(unknown_rank=True)
    return Shape(tuple([Dim(-1 if size is None else int(size)) for size in shape]))


@dataclass
class SignatureDef:
    """A use of a saved model: what is fed and what is fetched, by names of the user's.

    Attributes:
      inputs, outputs: name -> tensor.
      method_name: what kind of use it is, such as "tensorflow/serving/predict".

    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None], "x")
    ...     signature = tf.saved_model.predict_signature_def({"rows": x}, {"double": 2.0 * x})
    >>> signature.inputs["rows"].name, signature.method_name
    ('x:0', 'tensorflow/serving/predict')
    """

    inputs: dict[str, TensorInfo] = field(default_factory=dict)
    outputs: dict[str, TensorInfo] = field(default_factory=dict)
    method_name: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return {
            "inputs": {key: info.to_json() for key, info in self.inputs.items()},
            "outputs": {key: info.to_json() for key, info in self.outputs.items()},
            "method": self.method_name,
        }

    @classmethod
    def from_json(cls, data: Any) -> SignatureDef:
        """Return what JSON data describes. Raises ValueError where it is no such thing."""
        if not isinstance(data, dict) or not isinstance(data.get("method"), str):
            raise ValueError(f"{shortened(data)} where a signature belongs")
        inputs, outputs = (
            {key: TensorInfo.from_json(info) for key, info in _dict(data.get(side)).items()}
            for side in ("inputs", "outputs")
        )
        return cls(inputs, outputs, data["method"])


@dataclass
class AssetFileDef:
    """A file that a saved model brings.

    Attributes:
      filename: its name in the model's directory of assets.
      tensor_info: the tensor that has its path.
    """

    filename: str = ""
    tensor_info: TensorInfo = field(default_factory=TensorInfo)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return {"file": self.filename, "tensor": self.tensor_info.to_json()}

    @classmethod
    def from_json(cls, data: Any) -> AssetFileDef:
        """Return what JSON data describes. Raises ValueError where it is no such thing."""
        name = data.get("file") if isinstance(data, dict) else None
        if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\\" in name:
            raise ValueError(f"{shortened(data)} where a file of a model belongs")
        return cls(name, TensorInfo.from_json(data.get("tensor")))


def signatures_of(data: Any) -> dict[str, SignatureDef]:
    """Return signatures by their keys, of JSON data. Raises ValueError where it is no such."""
    return {key: SignatureDef.from_json(item) for key, item in _dict(data).items()}


def assets_of(data: Any) -> list[AssetFileDef]:
    """Return the files of a model, of JSON data. Raises ValueError where it is no such."""
    return [AssetFileDef.from_json(item) for item in _list(data)]


def _dict(data: Any) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise ValueError(f"{shortened(data)} where names and tensors belong")
    return data


def _list(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise ValueError(f"{shortened(data)} where a list belongs")
    return data
