// Backward ops of PyTorch that write over the gradient they were given, where it is theirs alone. The same kernel of
// PyTorch's gives the same bits; a language model's loss takes two tensors of the size of its logits for it instead of three.
//
// Only within steps that are offloaded, and in a backward pass that keeps no graph. Any thread.
#pragma once

void replace_ops();  // once a process

void begin_step();
void end_step();
