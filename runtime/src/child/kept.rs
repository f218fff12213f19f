//! Inputs of children.

use crate::fault::Fault;
use crate::node::Node;
use crate::typed::Target;

/// An input that is kept as long as another attempt may need it.
pub(super) struct Kept<N: Node>(Option<N::Input>);

impl<N: Node> Kept<N> {
    pub(super) fn new(input: N::Input) -> Self {
        Kept(Some(input))
    }

    pub(super) fn take(&mut self, may_repeat: bool) -> Result<N::Input, Fault> {
        let gone =
            || Fault::Context { message: "the child's input is gone; this is a mistake in graphweft".to_owned() };
        match &self.0 {
            Some(input) if may_repeat => <N as Target>::copy(input),
            _ => self.0.take().ok_or_else(gone),
        }
    }
}
