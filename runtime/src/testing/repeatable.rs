//! Nodes by their types.

use std::any::TypeId;

use crate::node::{Node, name_of};

/// A node, and the name by which it is called.
#[derive(Clone, Debug)]
pub struct Named {
    pub(super) type_id: TypeId,
    pub(super) name: String,
}

impl Named {
    pub(super) fn of<N: Node>() -> Self {
        Named { type_id: TypeId::of::<N>(), name: name_of::<N>() }
    }
}

/// A node, or a tuple of up to eight: for [`Lab::repeatable`](super::Lab::repeatable).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a node nor a tuple of up to eight nodes",
    label = "not nodes"
)]
pub trait Nodes {
    #[doc(hidden)]
    fn add_to(nodes: &mut Vec<Named>);
}

impl<N: Node> Nodes for N {
    fn add_to(nodes: &mut Vec<Named>) {
        nodes.push(Named::of::<N>());
    }
}

macro_rules! tuples {
    ($($node:ident)*) => {
        impl<$($node: Node),*> Nodes for ($($node,)*) {
            fn add_to(nodes: &mut Vec<Named>) {
                $(nodes.push(Named::of::<$node>());)*
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
