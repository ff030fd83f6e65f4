//! Calls on PyTorch tensors. `caller` takes the arguments of a module's call, `gate` decides whether its quick way is open, `tensors`
//! runs on the memory `dlpack` finds, `autograd` lets PyTorch remember the call and pulls cotangents back; `look` reads numbers for torch
//! code.

pub(crate) mod autograd;
pub(crate) mod caller;
pub(crate) mod dlpack;
pub(crate) mod gate;
pub(crate) mod look;
pub(crate) mod tensors;
