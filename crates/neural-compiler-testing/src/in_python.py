"""Runs exported programs. In: jobs.json, files; out: JSON on standard output, for every job and point the bits of all numbers."""

import importlib.machinery
import importlib.util
import json
import struct
import sys
from pathlib import Path

import numpy


def numbers(x):
    if isinstance(x, (tuple, list)):
        return [n for part in x for n in numbers(part)]
    return [struct.unpack("<Q", struct.pack("<d", float(n)))[0] for n in numpy.ravel(numpy.asarray(x))]


def module_of(name):
    loader = importlib.machinery.SourceFileLoader(name, name)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def of_sympy(job):
    import sympy

    module = module_of(job["name"])
    wanted = [module.value, *module.gradient] if job["gradient"] else [module.value]
    exact = lambda x: sympy.Rational(*float(x).as_integer_ratio())
    return lambda *point: [float(sympy.N(e.subs(dict(zip(module.INPUTS, map(exact, point)))), 30)) for e in map(sympy.sympify, wanted)]


def of_stablehlo(job):
    import jax
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jax._src.lib.mlir import ir

    jax.config.update("jax_enable_x64", True)
    with mlir.make_ir_context():
        module = ir.Module.parse(Path(job["name"]).read_text())
        module.operation.verify()
        code = mlir.module_to_bytecode(module)
    device = jax.devices()[0]
    program = device.client.compile_and_load(code, xla_client.DeviceList((device,)), xla_client.CompileOptions())

    def run(*point):
        arrays = [jax.device_put(numpy.asarray(x, numpy.float64)) for x in point]
        return [numpy.asarray(a) for parts in program.execute_sharded(arrays).disassemble_into_single_device_arrays() for a in parts]

    return run


def of_onnx(job):
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(job["name"], providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    # One lane of a batch.
    return lambda *point: session.run(None, {n: numpy.asarray(x, numpy.float64)[None] for n, x in zip(names, point)})


def function(job):
    if job["target"] == "sympy":
        return of_sympy(job)
    if job["target"] == "onnx":
        return of_onnx(job)
    if job["target"] == "stablehlo":
        return of_stablehlo(job)
    module = module_of(job["name"])
    f = module.gradient if job["gradient"] else module.value
    if job["target"] == "jax":
        import jax

        return jax.jit(f)
    return f


answers = []
for job in json.loads(Path("jobs.json").read_text()):
    f = function(job)
    rows = []
    for point in job["points"]:
        point = [struct.unpack("<d", struct.pack("<Q", n))[0] for n in point]
        arguments = []
        for shape in job["shapes"]:
            count = int(numpy.prod(shape)) if shape else 1
            own, point = point[:count], point[count:]
            arguments.append(numpy.reshape(own, shape) if shape else own[0])
        rows.append(numbers(f(*arguments)))
    answers.append(rows)
json.dump(answers, sys.stdout)
