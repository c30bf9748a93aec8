"""sluice.offload with what PyTorch 2 brought."""

import importlib.util
import shutil
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed")
if int(torch.__version__.split(".")[0]) < 2:
    raise unittest.SkipTest("of PyTorch 2")

import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

import sluice
from beside_plain import BesidePlain, numbers

X = numbers(1, 512, 256)


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(*[each for _ in range(5) for each in (torch.nn.Linear(256, 256), torch.nn.GELU())])


def gradients(of, x=X):
    """Of a network that `of` makes something else of."""
    model = network()
    of(model)(x).square().sum().backward()
    return [each.grad for each in model.parameters()]


def trained(make, scaler=None, dtype=None):
    """The weights after two steps by an optimizer."""
    model = network()
    optimizer = make(model.parameters())
    for _ in range(2):
        with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            loss = model(X).float().square().mean()
        if scaler is None:
            loss.backward()
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        optimizer.zero_grad(set_to_none=True)
    return list(model.parameters())


class PyTorch2Test(BesidePlain):
    def test_scaled_dot_product_attention(self):
        def step(**more):
            q, k, v = (numbers(seed, 2, 8, 256, 64).requires_grad_() for seed in (1, 2, 3))
            torch.manual_seed(0)
            F.scaled_dot_product_attention(q, k, v, **more).sin().sum().backward()
            return [q.grad, k.grad, v.grad]

        self.assert_plain(lambda: step(is_causal=True))  # a fused kernel
        self.assert_plain(lambda: step(attn_mask=numbers(4, 256, 256), dropout_p=0.1))  # ops

    def test_checkpoints_with_a_policy(self):
        from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

        def policy(_, op, *__, **___):
            return CheckpointPolicy.MUST_SAVE if op == torch.ops.aten.addmm.default else CheckpointPolicy.PREFER_RECOMPUTE

        self.assert_plain(lambda: gradients(lambda model: lambda x: checkpoint(
            model, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(policy))))

    def test_hooks_behind_the_gradient(self):
        def step():
            model, seen = network(), []

            def take(parameter):
                seen.append(parameter.grad.clone())
                parameter.grad = None

            for each in model.parameters():
                each.register_post_accumulate_grad_hook(take)
            model(X).square().sum().backward()
            return seen

        self.assert_plain(step)

    def test_optimizers_that_take_all_parameters_at_once(self):
        for settings in ({"foreach": True}, {"fused": True}):
            def make(parameters, settings=settings):
                return torch.optim.AdamW(parameters, **settings)

            self.assert_plain(lambda make=make: trained(make))
            ours = trained(lambda parameters, make=make: sluice.offload_optimizer(make(parameters), to=self.folder.name, window="64KiB"))
            for one, other in zip(trained(make), ours):
                self.assertTrue(torch.equal(one, other), settings)

    def test_autocast_and_scaled_losses(self):
        for dtype in (torch.bfloat16, torch.float16):
            self.assert_plain(lambda dtype=dtype: trained(lambda parameters: torch.optim.SGD(parameters, lr=1e-3),
                                                          scaler=torch.amp.GradScaler("cpu"), dtype=dtype))

    def test_subclasses_of_tensors(self):
        class Own(torch.Tensor):
            pass

        self.assert_plain(lambda: gradients(lambda model: model, X.clone().as_subclass(Own)))

    def test_workers_that_load_data(self):
        def step():
            model = network()
            for (x,) in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X), batch_size=256, num_workers=2):
                model(x).square().sum().backward()
            return [each.grad for each in model.parameters()]

        self.assert_plain(step)

    def compiled(self, backend):
        def compile_anew(model):
            torch._dynamo.reset()
            return torch.compile(model, backend=backend)

        self.assert_plain(lambda: gradients(compile_anew))

    def test_compiled_modules(self):
        self.compiled("aot_eager")

    @unittest.skipUnless(importlib.util.find_spec("setuptools") and shutil.which("c++"), "the compiler of torch.compile is not there")
    def test_modules_compiled_to_code(self):
        self.compiled("inductor")

    @unittest.skipUnless(torch.distributed.is_available() and torch.distributed.is_gloo_available(), "no gloo")
    def test_distributed_data_parallel(self):
        torch.distributed.init_process_group("gloo", init_method=f"file://{self.folder.name}/store", rank=0, world_size=1)
        self.addCleanup(torch.distributed.destroy_process_group)
        self.assert_plain(lambda: gradients(torch.nn.parallel.DistributedDataParallel))

    def test_functions_of_functions_are_refused_by_pytorch(self):
        with self.assertRaisesRegex(RuntimeError, "torch.func.* saved tensor hooks"):
            with self.budgets()[0]:
                torch.func.grad(lambda x: (x @ x).sum())(numbers(1, 256, 256))


if __name__ == "__main__":
    unittest.main()
