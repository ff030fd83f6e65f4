"""A program as plain torch operations, on any device, through an FX `GraphModule` that you can print and edit.

In: the graph of a program as data (`Program.graph_json()`); out: a `torch.fx.GraphModule`. It shares no arithmetic and no derivative
rule with the native backend (torch computes, autograd differentiates), so each is the other's oracle.

    graph.py       the graph as typed data
    operations.py  one torch expression per operation of the table
    matrices.py    determinants and cofactors
    weights.py     what is written out where it is used, and what is called
    emit.py        a region of the graph as torch code
    reach.py       which inputs give a result its batch sizes
    control.py     branches, loops and calls as modules
    machine.py     loops, recursion and long branches, lane by lane
    lanes.py       which lanes run: splitting and joining a batch
    records.py     what a forward run stores for a derivative program
    deep.py        recursion without Python's stack
"""

from .control import Control
from .lower import lower, source_text

__all__ = ["Control", "lower", "source_text"]
