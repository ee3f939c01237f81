//! A native turn: the model speaks (`stream`), its calls run (`calls`), until it has nothing left to ask for (`run`).

mod call_ids;
mod calls;
mod fault;
mod growing;
mod prompt_steps;
mod remind;
mod repeat;
pub(super) mod room;
pub(super) mod run;
mod stop;
mod stream;
pub(super) mod validate;
mod wave;
