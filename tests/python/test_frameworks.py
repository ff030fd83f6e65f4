"""Modules inside the frameworks people train with: Lightning, Accelerate, ensembles by `torch.func`."""

from __future__ import annotations

import copy
import logging
import pathlib

import neural_compiler as nc
import pytest
import torch

DECAY = "(param a 1.0) (param k 0.3 :min 0) (* a (exp (- (* k t))))"
T = torch.linspace(0, 4, 32)
DATA = 3 * torch.exp(-0.7 * T)


def loader() -> torch.utils.data.DataLoader:
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(T, DATA), batch_size=16)


def learnt(module: nc.CompiledModule) -> None:
    assert abs(module.a.item() - 3) < 0.01 and abs(module.k.item() - 0.7) < 0.01


def test_lightning(tmp_path: pathlib.Path) -> None:
    import lightning

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Fit(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.law = nc.compile_scheme(DECAY)

        def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
            return torch.nn.functional.mse_loss(self.law(t=batch[0]), batch[1])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters(), lr=0.1)

    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
    trainer = lightning.Trainer(max_epochs=120, enable_checkpointing=False, **quiet)
    model = Fit()
    trainer.fit(model, loader())
    learnt(model.law)
    trainer.save_checkpoint(tmp_path / "fit.ckpt")
    again = Fit.load_from_checkpoint(tmp_path / "fit.ckpt")
    assert torch.equal(again.law(t=T), model.law(t=T))


def test_accelerate() -> None:
    import accelerate

    accelerator = accelerate.Accelerator(cpu=True)
    module = nc.compile_scheme(DECAY)
    model, optimiser, batches = accelerator.prepare(module, torch.optim.Adam(module.parameters(), lr=0.1), loader())
    for _ in range(120):
        for t, y in batches:
            optimiser.zero_grad()
            accelerator.backward(torch.nn.functional.mse_loss(model(t=t), y))
            optimiser.step()
    learnt(accelerator.unwrap_model(model))


class Hybrid(torch.nn.Module):
    """Known decay, and a network for what is not known."""

    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Linear(1, 1)
        self.law = nc.compile_scheme("(param k 0.5) (+ (exp (- (* k t))) u)", inputs=["t", "u"])

    def forward(self, t: torch.Tensor) -> torch.Tensor:
        return self.law(t=t, u=self.net(t[:, None])[:, 0])


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_ensembles_by_stacked_parameters(backend: str) -> None:
    torch.manual_seed(0)
    models = [Hybrid() for _ in range(3)]
    for k, model in enumerate(models):
        model.law.backend = backend
        with torch.no_grad():
            model.law.k.fill_(0.3 + 0.2 * k)
    params, buffers = torch.func.stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")

    def one(p: dict, b: dict, t: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(base, (p, b), (t,))

    together = torch.func.vmap(one, (0, 0, None))(params, buffers, T)
    torch.testing.assert_close(together, torch.stack([m(T) for m in models]))
    loss = lambda p, b, t: one(p, b, t).square().mean()
    slopes = torch.func.vmap(torch.func.grad(loss), (0, 0, None))(params, buffers, T)
    for k, model in enumerate(models):
        expected = torch.autograd.grad(model(T).square().mean(), model.law.k)[0]
        torch.testing.assert_close(slopes["law.k"][k], expected.to(slopes["law.k"].dtype))
