"""The models that both sides train, as PyTorch users write them, by Sluice's names.

    twin = MODELS["bert_base"]
    sizes = twin.sizes(batch=8, sequence=128, dropout=0.0)    # unknown options raise ValueError
    model = twin.build(sizes)                                 # nn.Module, random weights
    inputs = twin.inputs(sizes, torch.Generator().manual_seed(1))
    for stage in twin.stages:                                 # one, but for dcgan
        loss = stage.loss(model, inputs)

`inputs` is a tuple in the order of the outputs of Sluice's input op; images float32 [N, C, H, W], labels and tokens
int64; a hidden-token label of -1 is left out of the mean. A loss calls its first argument on what the model reads.
Models of one stage are an nn.Sequential of blocks, so that argument may as well be a function that runs the blocks one
by one, each checkpointed.

The same layers as in sluice/models with the same dropout (sizes.dropout, 0 for image models unless asked), and the
same parameters in the same order: graph_parameters(), graph_values(), graph_gradients() and set_graph_values() go by
the order of the parameters (not buffers) in Sluice's forward graph, with a norm's weight and bias as one [2, C].
Where torchvision has the network, it is torchvision's. Those of modules.py have no counterpart in Sluice.

dcgan: model.generator and model.discriminator; a stage trains the parameters named by its trained_prefix (those of
model.named_parameters() that begin with it) before the next stage's loss is computed; the step's loss is their sum.
Clear the gradients before each stage: the second one leaves some in the discriminator.
"""

from . import dcgan, language, modules, residual, vision
from .twin import (Sizes, Stage, Twin, graph_gradients, graph_parameters, graph_values,  # noqa: F401
                   set_graph_values)

MODELS = {**residual.TWINS, **vision.TWINS, **language.TWINS, **dcgan.TWINS, **modules.TWINS}
