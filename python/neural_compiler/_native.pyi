"""The extension module: what the package is built on. Its classes take and give plain data; use the package's own instead."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Caller",
    "Core",
    "Function",
    "Library",
    "Places",
    "Taped",
    "__version__",
    "all_between",
    "compare_models",
    "dose_columns",
    "doses_in_units",
    "failure",
    "fit_lines",
    "fit_model",
    "fit_number",
    "fit_saved",
    "fit_svg",
    "group_name",
    "link",
    "operations",
    "predict_bands",
    "predict_model",
    "read_dates",
    "refine_models",
    "remember",
    "remembered",
    "schemes",
    "simulate_model",
    "step_control",
    "translate",
    "use_autograd",
    "use_exchange",
    "weights_from_bytes",
    "weights_to_bytes",
]
__version__: str

_Sized = tuple[str, list[int] | None]
_Column = NDArray[np.float64]
_Line = tuple[_Column, list[_Column], list[list[_Column] | None]]
_Shapes = list[list[int]] | None

@final
class Core:
    """A compiled program."""

    def __new__(
        cls, source: str, inputs: list[_Sized] | None, params: list[_Sized], syntax: str = "scheme", units: str = "error"
    ) -> Core: ...
    @property
    def source(self) -> str: ...
    @property
    def groups(self) -> list[str]: ...
    def reads(self, name: str) -> bool: ...
    @property
    def syntax(self) -> str: ...
    @property
    def scheme(self) -> str: ...
    @property
    def units(self) -> list[tuple[str, str]]: ...
    @property
    def unit_warnings(self) -> list[str]: ...
    @property
    def by_group(self) -> list[str]: ...
    @property
    def latex(self) -> str: ...
    @property
    def anf(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def time(self) -> str | None: ...
    @property
    def start_time(self) -> float | None: ...
    @property
    def events(self) -> int: ...
    @property
    def inputs(self) -> list[dict[str, Any]]: ...
    def function(self, steps: list[tuple[str, tuple[int, ...]]], chain: list[tuple[str, tuple[int, ...], tuple[int, ...]]]) -> Function: ...
    def feed(self, outer: Core, name: str | None) -> str: ...

@final
class Function:
    """A program or a derivative of one, to be called."""

    def quick(self, args: tuple[Any, ...], kwargs: dict[str, Any], params: dict[str, Any], threads: int, out: Any = None) -> Any: ...
    def numpy(self, inputs: list[Any], out: list[Any] | None, double: bool, threads: int, trap: bool) -> list[Any]: ...
    def kept(self, inputs: list[Any], double: bool, threads: int, trap: bool) -> tuple[list[Any], list[int]]: ...
    def torch(self, inputs: tuple[Any, ...], threads: int, trap: bool) -> Any: ...
    def plain(self, compiled: Any, inputs: tuple[Any, ...], follow: Places) -> Any: ...
    def graph_json(self, shapes: _Shapes = None) -> str: ...
    def graph_text(self, shapes: _Shapes = None) -> str: ...
    def svg(self, shapes: _Shapes = None) -> str: ...
    def export(
        self, target: str, gradient: bool, double: bool, prefix: str, constants: list[list[float] | None], shapes: _Shapes = None
    ) -> list[tuple[str, Any]]: ...
    def onnx(self, double: bool, batch: bool, constants: list[list[float] | None], shapes: _Shapes = None) -> bytes: ...
    def result_axes(self, shapes: _Shapes = None) -> list[list[int]]: ...
    def input_axes(self, shapes: _Shapes = None) -> list[list[int]]: ...
    @property
    def likes(self) -> list[int | None]: ...
    def domain(self, ranges: list[tuple[float, float] | None], double: bool, shapes: _Shapes = None) -> list[dict[str, Any]]: ...

@final
class Places:
    """A set of inputs."""

    def __new__(cls, places: list[int]) -> Places: ...

@final
class Caller:
    """What the calls of a module share."""

    def __new__(
        cls, function: Function, compiled: Any, follow: Places, names: tuple[str, ...], own: tuple[tuple[int, str], ...], code: bool
    ) -> Caller: ...
    def add_code(self, sizes: list[int], code: Callable[..., tuple[Any, ...]]) -> None: ...
    def call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

@final
class Taped:
    """A call that autograd remembers."""

    @property
    def compiled(self) -> Any: ...
    def pull(self, tensors: tuple[Any, ...], cotangents: tuple[Any, ...], needs: tuple[bool, ...]) -> tuple[Any, ...] | None: ...

@final
class Library:
    """A folder of modules; modules come as JSON."""

    def __new__(cls, folder: str, make: bool) -> Library: ...
    @staticmethod
    def nearest(folder: str) -> Library | None: ...
    @property
    def folder(self) -> Path: ...
    def modules(self) -> list[str]: ...
    def get(self, name: str) -> str: ...
    def add(
        self,
        name: str,
        text: str,
        description: str,
        examples: list[str],
        ranges: list[tuple[str, tuple[float, float]]],
        provenance: str,
        flags: tuple[bool, bool],
    ) -> str: ...
    def search(
        self,
        text: str | None,
        signature: str | None,
        units: str | None,
        samples: tuple[list[tuple[str, list[float]]], str, float] | None,
    ) -> list[tuple[str, list[tuple[str, str]], float | None]]: ...
    def test(self, names: list[str]) -> list[tuple[str, list[str]]]: ...
    def remove(self, name: str) -> None: ...
    def export(self, name: str) -> str: ...

def translate(source: str, syntax: str, to: str) -> str: ...
def schemes() -> list[dict[str, Any]]: ...
def step_control() -> tuple[float, float, float, float]: ...
def operations() -> list[dict[str, Any]]: ...
def all_between(tensor: Any, low: float, high: float) -> bool | None: ...
def use_exchange(capsule: Any, tensor: type, parameter: type) -> bool: ...
def use_autograd(
    watchers: list[Callable[[], Any]],
    forward_mode: dict[str, Any],
    grad_enabled: Callable[[], bool],
    threads: Callable[[], int],
    hooks: list[Any],
    apply: Callable[..., Any],
) -> None: ...
def remember(ctx: Any, taped: Taped, *tensors: Any) -> Any: ...
def failure(source: str, code: str, message: str, start: int, end: int) -> dict[str, Any]: ...
def fit_model(
    core: Core,
    columns: list[tuple[str, _Column]],
    others: list[tuple[str, bool]],
    options: dict[str, Any],
    progress: Callable[[int, int, float], None] | None,
) -> dict[str, Any]: ...
def compare_models(
    models: list[tuple[str, Core, list[tuple[str, _Column]], list[tuple[str, bool]], dict[str, Any]]],
) -> tuple[str, str, list[tuple[int, str]]]: ...
def fit_lines(
    core: Core,
    columns: list[tuple[str, _Column]],
    options: dict[str, Any],
    explained: tuple[list[str], _Column],
    axis: tuple[str, _Column, NDArray[np.uintp]],
    found: str,
) -> list[_Line]: ...
def fit_svg(
    targets: list[str],
    observed: _Column,
    predicted: _Column,
    axis: tuple[str, _Column, NDArray[np.uintp]] | None,
    lines: list[_Line],
    standard: _Column,
) -> str: ...
def predict_bands(
    core: Core, columns: list[tuple[str, _Column]], others: list[tuple[str, bool]], options: dict[str, Any], found: str | None
) -> list[tuple[str, list[_Column]]]: ...
def predict_model(
    core: Core, columns: list[tuple[str, _Column]], others: list[tuple[str, bool]], options: dict[str, Any]
) -> list[tuple[str, _Column]]: ...
def simulate_model(
    core: Core, columns: list[tuple[str, _Column]], options: dict[str, Any], given: list[tuple[str, list[float]]]
) -> tuple[int, list[tuple[str, list[int], _Column]]]: ...
def refine_models(
    columns: list[tuple[str, _Column]],
    wanted: tuple[tuple[str, list[str]] | None, tuple[list[str], str, str | None] | None],
    given: list[str],
    proposers: list[str],
    how: tuple[float, float, int],
) -> str: ...
def dose_columns(
    core: Core, headers: list[str], called: tuple[str | None, str | None]
) -> tuple[int, int, tuple[int | None, int | None, int | None]]: ...
def doses_in_units(
    core: Core,
    headers: list[str],
    called: tuple[str | None, str | None],
    rows: list[tuple[float, float, float, str | None, float | None]],
) -> list[tuple[float, float, float, str | None, float | None]]: ...
def link(name: str, text: str, load: Callable[[str, str], tuple[str, str]], library: str | None = None) -> str: ...
def fit_number(x: float, error: float | None) -> str: ...
def group_name(text: str) -> str: ...
def fit_saved(source: str, found: str, columns: list[tuple[str, _Column]], given: str, weights: bytes | None) -> str: ...
def remembered(core: Core, columns: list[str], group: str | None) -> dict[str, Any]: ...
def read_dates(
    core: Core,
    columns: list[tuple[str, NDArray[np.int64], int, bool]],
    named: list[str],
    unit: str | None,
    origin: str | None,
    fitting: bool,
) -> tuple[list[tuple[str, _Column]], str, str] | None: ...
def weights_to_bytes(core: Core, options: dict[str, Any]) -> bytes | None: ...
def weights_from_bytes(core: Core, bytes: bytes) -> list[tuple[str, list[int], _Column]]: ...
