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
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::testing::Lab;
///
/// #[node]
/// async fn trim(text: String) -> String { text.trim().to_owned() }
/// #[node]
/// async fn shout(text: String) -> String { text.to_uppercase() }
/// workflow! { pub louder(String) -> String { START => trim => shout; } }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// let lab = Lab::of::<louder>().repeatable::<(trim, shout)>();
/// assert!(lab.crash_at_every_commit(" ants ".into()).await.interrupted.is_empty());
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
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
