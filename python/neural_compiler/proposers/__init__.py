"""Proposers for `neuralc refine` in Python: the protocol of docs/proposers.md, and adapters for PySINDy and Operon.

`python -m neural_compiler.proposers.pysindy` and `…operon` are commands for `--proposer`; the packages they adapt are not installed with
this one.
"""

from .protocol import Request, serve

__all__ = ["Request", "serve"]
