"""A hybrid model trained by one process or several, with checkpoints: known gravity, unknown drag.

    python train.py --steps 40                                        # one process
    torchrun --nproc-per-node 2 train.py --steps 40                   # DistributedDataParallel
    torchrun --nproc-per-node 2 train.py --steps 40 --fsdp            # fully_shard
    … --checkpoint run.pt --every 10                                  # goes on from run.pt if it is there

In: options; out: the losses of the steps taken, as JSON (`--losses`), and checkpoints. Invariants: a step's rows are the same whatever the
number of processes, which share them evenly, so that losses differ in rounding only; a checkpoint holds whole tensors under the model's own
names, so that any of the three goes on from any other's; it is replaced whole or not at all.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib

import torch
import torch.distributed as dist
from neural_compiler import compile_scheme
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict

ROWS, BATCH = 512, 64
WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True)


class Pendulum(torch.nn.Module):
    """The angular acceleration: a law with an unknown constant, and a network for what is not known."""

    def __init__(self) -> None:
        super().__init__()
        # A vector of one number: fully_shard shards tensors with axes.
        self.pull = compile_scheme("(* (- (ref g_L 0)) (sin theta))", inputs=["theta", "g_L"], params={"g_L": [5.0]})
        self.drag = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))

    def forward(self, theta: torch.Tensor, omega: torch.Tensor) -> torch.Tensor:
        return self.pull(theta=theta) + self.drag(omega[:, None])[:, 0]


def data() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Angles, velocities, accelerations."""
    made = torch.Generator().manual_seed(1)
    theta, omega = torch.rand(2, ROWS, generator=made, dtype=torch.float64) * 2 - 1
    return theta, omega, -9.81 * torch.sin(theta) - 0.3 * omega * omega.abs()


def train(steps: int, checkpoint: pathlib.Path | None = None, every: int = 10, fsdp: bool = False) -> list[float]:
    """Trains up to `steps` steps, counted from the very first; gives the losses of those taken now."""
    rank, world = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    torch.manual_seed(0)
    model: torch.nn.Module = Pendulum().double()
    if fsdp:
        from torch.distributed.fsdp import fully_shard

        fully_shard(model, mesh=dist.init_device_mesh("cpu", (world,)))
    elif world > 1:
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.2)
    first = 0
    if checkpoint is not None and checkpoint.exists():
        found = torch.load(checkpoint, weights_only=True)
        set_state_dict(model, optimiser, model_state_dict=found["model"], optim_state_dict=found["optimiser"], options=WHOLE)
        first = found["step"]
    theta, omega, target = data()
    losses = []
    for step in range(first, steps):
        rows = torch.arange(step * BATCH, (step + 1) * BATCH)[rank::world] % ROWS
        optimiser.zero_grad()
        loss = (model(theta[rows], omega[rows]) - target[rows]).square().mean()
        loss.backward()
        optimiser.step()
        shown = loss.detach().clone()
        if world > 1:
            dist.all_reduce(shown, dist.ReduceOp.SUM)
        losses.append(shown.item() / world)
        if checkpoint is not None and (step + 1) % every == 0:
            save(model, optimiser, step + 1, checkpoint, rank)
    return losses


def save(model: torch.nn.Module, optimiser: torch.optim.Optimizer, step: int, checkpoint: pathlib.Path, rank: int) -> None:
    """Writes a checkpoint; every process takes part, the first one writes."""
    weights, state = get_state_dict(model, optimiser, options=WHOLE)
    if rank == 0:
        part = checkpoint.with_name(checkpoint.name + ".part")
        torch.save({"model": weights, "optimiser": state, "step": step}, part)
        os.replace(part, checkpoint)


def main() -> None:
    parser = argparse.ArgumentParser(description="a hybrid model trained by one process or several")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--checkpoint", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--fsdp", action="store_true")
    parser.add_argument("--losses", type=pathlib.Path)
    options = parser.parse_args()
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    losses = train(options.steps, options.checkpoint, options.every, options.fsdp)
    if not dist.is_initialized() or dist.get_rank() == 0:
        if options.losses is not None:
            options.losses.write_text(json.dumps(losses))
        print(f"{len(losses)} steps, loss {losses[-1]:.6g}")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
