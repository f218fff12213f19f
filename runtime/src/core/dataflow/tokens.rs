//! Tokens: where they go, which nodes they fire, and which nodes are skipped when they are dead.

use graphweft_graph::{END, NodeIx};

use crate::core::attempts::Attempts;
use crate::core::event::Derived;
use crate::core::frame::{Frame, Stage};
use crate::core::impossible::{Applied, Impossible};
use crate::core::program::{Program, Reach, Role};
use crate::core::run_state::{RunState, Work};
use crate::core::token::{Arrived, Emitted, Tokens};

impl<V> RunState<V> {
    /// Puts a token on each out-edge of a node: live ones on those of its choice, dead ones on the others.
    pub(in crate::core) fn emit(
        &mut self,
        program: &Program,
        scope: usize,
        frame: usize,
        node: NodeIx,
        emitted: Emitted<V>,
    ) -> Applied {
        let layout = self.layout(program, scope)?;
        let choice = layout.nodes[node].choices.get(emitted.choice).ok_or_else(no_such_choice)?;
        match emitted.tokens {
            Tokens::One(value) if choice.live.len() == 1 => {
                self.work.push_back(Work::Token { scope, frame, edge: choice.live[0], value: Some(value) });
            }
            tokens => {
                let mut values = match tokens {
                    Tokens::None => Vec::new(),
                    Tokens::One(value) => vec![value],
                    Tokens::Many(values) => values,
                }
                .into_iter();
                // At once, and not by doubling: to free what was too small costs more than all else of a branch.
                let targets = choice.live.len();
                self.work.reserve(targets);
                self.tasks.reserve(targets);
                self.news.queued.reserve(targets);
                self.scope_mut(scope)?.tasks.reserve(targets);
                if values.len() != targets {
                    let found = format!("its output has {} values for {targets} edges", values.len());
                    return Err(Box::new(Impossible { event: "", found }));
                }
                for edge in &choice.live {
                    self.work.push_back(Work::Token { scope, frame, edge: *edge, value: values.next() });
                }
            }
        }
        for edge in &choice.dead {
            self.work.push_back(Work::Token { scope, frame, edge: *edge, value: None });
        }
        Ok(())
    }

    pub(in crate::core) fn emit_dead(
        &mut self,
        program: &Program,
        scope: usize,
        frame: usize,
        node: NodeIx,
    ) -> Applied {
        let layout = self.layout(program, scope)?;
        for edge in &layout.nodes[node].out {
            self.work.push_back(Work::Token { scope, frame, edge: *edge, value: None });
        }
        Ok(())
    }

    /// Nothing more comes from this node. Called after its tokens have been put on their way.
    pub(in crate::core) fn finish_node(
        &mut self,
        program: &Program,
        scope: usize,
        frame: usize,
        node: NodeIx,
    ) -> Applied {
        let layout = self.layout(program, scope)?;
        let slot = layout.nodes[node].slot;
        let at = self.frame_mut(scope, frame)?;
        at.nodes[slot].stage = Stage::Settled;
        self.finish_vertex(scope, frame)
    }

    fn finish_vertex(&mut self, scope: usize, frame: usize) -> Applied {
        let at = self.frame_mut(scope, frame)?;
        count_down(&mut at.open);
        if at.open == 0 {
            self.work.push_back(Work::Close { scope, frame });
        }
        Ok(())
    }

    pub(super) fn frame_mut(&mut self, scope: usize, frame: usize) -> Applied<&mut Frame<V>> {
        Ok(&mut self.scope_mut(scope)?.frames[frame])
    }

    /// Takes a token to where it is counted. A live one leaves loops at once; a dead one only after their last turn.
    pub(in crate::core) fn token(
        &mut self,
        program: &Program,
        scope: usize,
        frame: usize,
        edge: usize,
        value: Option<V>,
    ) -> Applied {
        let at = self.scope_mut(scope)?;
        let layout = &program.layouts[at.layout];
        let info = &layout.edges[edge];
        let mut home = frame;
        while at.frames[home].depth > info.home {
            if value.is_none() && !at.frames[home].last {
                at.frames[home].not_taken.push(edge);
                return Ok(());
            }
            home = at.frames[home].parent;
        }
        let (node, frame) = (info.to, home);
        let at = &mut at.frames[home];
        let (open, stage) = match info.role {
            Role::Node(slot) => {
                let slot = &mut at.nodes[slot];
                count_down(&mut slot.open);
                (slot.open, slot.stage)
            }
            Role::Enter(slot) => {
                let slot = &mut at.loops[slot];
                count_down(&mut slot.open);
                (slot.open, slot.stage)
            }
            Role::Back => {
                count_down(&mut at.back_open);
                (at.back_open, if at.next_begun { Stage::Fired } else { Stage::Waiting })
            }
        };
        if info.reach == Reach::Collect {
            return self.arrive(program, scope, frame, node, value);
        }
        let fires = match info.reach {
            Reach::Group(group, place) => {
                let kind = &layout.frames[at.kind].groups[group];
                let slot = &mut at.groups[group];
                count_down(&mut slot.open);
                if let Some(value) = value {
                    if slot.places.is_empty() {
                        slot.places.resize_with(kind.places, || None);
                    }
                    slot.places[place] = Some(value);
                    slot.live += 1;
                }
                if slot.open > 0 || slot.live == 0 {
                    None
                } else {
                    let places = std::mem::take(&mut slot.places);
                    if kind.delivers_one {
                        places.into_iter().flatten().next().map(Arrived::One)
                    } else {
                        Some(Arrived::Join { way: kind.way, places })
                    }
                }
            }
            Reach::Plain | Reach::Collect => value.map(Arrived::One),
        };
        match (fires, info.role) {
            _ if stage != Stage::Waiting => Ok(()),
            (Some(arrived), Role::Node(_)) => self.fire(program, scope, frame, node, arrived),
            (Some(arrived), Role::Enter(slot)) => {
                at.loops[slot].stage = Stage::Fired;
                let inner = layout.frames[at.kind].loops[slot] + 1;
                self.begin_turn(program, scope, inner, frame, 1, node, arrived)
            }
            (Some(arrived), Role::Back) => {
                at.next_begun = true;
                let (kind, parent, turn) = (at.kind, at.parent, at.turn + 1);
                self.begin_turn(program, scope, kind, parent, turn, node, arrived)
            }
            (None, _) if open > 0 => Ok(()),
            (None, Role::Node(_)) => self.skip(program, scope, frame, node),
            (None, Role::Enter(slot)) => self.skip_loop(program, scope, frame, slot),
            (None, Role::Back) => self.last_turn(scope, frame),
        }
    }

    /// No edge leads to a next turn: an edge out of the loop that this turn did not take is never taken.
    fn last_turn(&mut self, scope: usize, frame: usize) -> Applied {
        let at = self.frame_mut(scope, frame)?;
        at.last = true;
        let parent = at.parent;
        let not_taken = std::mem::take(&mut at.not_taken);
        for edge in &not_taken {
            self.work.push_back(Work::Token { scope, frame: parent, edge: *edge, value: None });
        }
        Ok(())
    }

    fn fire(&mut self, program: &Program, scope: usize, frame: usize, node: NodeIx, arrived: Arrived<V>) -> Applied {
        if self.is_unneeded(program, scope, frame, node)? {
            return self.skip(program, scope, frame, node);
        }
        let slot = self.layout(program, scope)?.nodes[node].slot;
        self.frame_mut(scope, frame)?.nodes[slot].stage = Stage::Fired;
        if node == END {
            self.scope_mut(scope)?.output = Some(arrived);
            return self.finish_node(program, scope, frame, node);
        }
        self.fire_task(scope, frame, node, Attempts::none(), Some(arrived))
    }

    /// None of its ways in can go live any more.
    pub(super) fn skip(&mut self, program: &Program, scope: usize, frame: usize, node: NodeIx) -> Applied {
        if node != END {
            self.derive(scope, frame, node, Derived::Skipped)?;
        }
        self.emit_dead(program, scope, frame, node)?;
        self.finish_node(program, scope, frame, node)
    }

    /// A loop that is never entered: all its nodes are skipped, and its edges out are dead.
    fn skip_loop(&mut self, program: &Program, scope: usize, frame: usize, slot: usize) -> Applied {
        let layout = self.layout(program, scope)?;
        let at = self.frame_mut(scope, frame)?;
        at.loops[slot].stage = Stage::Settled;
        let kind = layout.frames[at.kind].loops[slot] + 1;
        if self.news.is_watched {
            let is_inside =
                |inner: usize| std::iter::successors(Some(inner), |at| layout.frames[*at].parent).any(|at| at == kind);
            for node in (0..layout.nodes.len()).filter(|node| is_inside(layout.nodes[*node].frame)) {
                self.derive(scope, frame, node, Derived::Skipped)?;
            }
        }
        for edge in &layout.frames[kind].leaving {
            self.work.push_back(Work::Token { scope, frame, edge: *edge, value: None });
        }
        self.finish_vertex(scope, frame)
    }

    /// Begins a turn of a loop at one of its heads; the others, if there are any, have no part in it.
    #[expect(clippy::too_many_arguments, reason = "a turn is all of these, and nothing else ever holds them together")]
    fn begin_turn(
        &mut self,
        program: &Program,
        scope: usize,
        kind: usize,
        parent: usize,
        turn: u64,
        head: NodeIx,
        arrived: Arrived<V>,
    ) -> Applied {
        let at = self.scope_mut(scope)?;
        let layout = &program.layouts[at.layout];
        let frame = at.free_frames.pop().unwrap_or_else(|| {
            at.frames.push(Frame::new());
            at.frames.len() - 1
        });
        let of = &layout.frames[kind];
        at.frames[frame].reset(kind, of, parent, turn);
        at.frames[parent].loops[of.slot].turns += 1;
        for other in of.heads.iter().filter(|other| **other != head) {
            self.emit_dead(program, scope, frame, *other)?;
            self.finish_node(program, scope, frame, *other)?;
        }
        // A loop in which no edge leads back has one turn.
        if of.back_edges == 0 {
            self.last_turn(scope, frame)?;
        }
        self.fire(program, scope, frame, head, arrived)
    }

    /// All of a frame is settled, and so is every edge out of it.
    pub(in crate::core) fn close_frame(&mut self, program: &Program, scope: usize, frame: usize) -> Applied {
        let at = self.scope_mut(scope)?;
        if at.frames[frame].depth == 0 {
            return self.scope_finished(program, scope);
        }
        let slot = program.layouts[at.layout].frames[at.frames[frame].kind].slot;
        let parent = at.frames[frame].parent;
        at.free_frames.push(frame);
        let around = &mut at.frames[parent].loops[slot];
        around.turns -= 1;
        if around.turns == 0 {
            around.stage = Stage::Settled;
            self.finish_vertex(scope, parent)?;
        }
        Ok(())
    }
}

fn no_such_choice() -> Box<Impossible> {
    Box::new(Impossible { event: "", found: "its node has no such arm".to_owned() })
}

/// Each edge of a frame has one token, and each of its nodes and loops ends once.
fn count_down(open: &mut u32) {
    debug_assert!(*open > 0, "an edge has its token only once, and a node one end");
    *open = open.saturating_sub(1);
}
