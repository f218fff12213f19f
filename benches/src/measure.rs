//! Measuring several ways to do the same work against each other, on a machine that has other things to do as well.
//!
//! The contenders take turns: each round has a short stretch of every one of them, so that what slows the machine down for
//! a while slows all of them. What is compared is the median of the rounds, and the median of the ratios within a round.

use std::time::Duration;

/// Who does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// graphweft.
    Ours,
    /// The least that it could take: the same, written by hand.
    Limit,
    /// Another way to write it by hand, or another of ours, to compare with.
    Also,
    /// Another library.
    Peer,
}

/// One way to do some work.
pub struct Contender<'a> {
    /// What it is called in the table.
    pub name: String,
    /// Who does it.
    pub role: Role,
    /// How many nodes, or what else is counted, doing it once consists of.
    pub units: u64,
    /// Does it so many times, and says how long that took. What has to be made ready first is not in it.
    pub run: Box<dyn FnMut(u64) -> Duration + 'a>,
}

impl<'a> Contender<'a> {
    /// One way to do some work.
    pub fn new(name: &str, role: Role, units: u64, run: impl FnMut(u64) -> Duration + 'a) -> Self {
        Contender { name: name.to_owned(), role, units, run: Box::new(run) }
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How often all contenders have their turn.
    pub rounds: usize,
    /// How long a turn is to be.
    pub turn: Duration,
}

/// What was measured of one contender.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What it is called.
    pub name: String,
    /// Who it is.
    pub role: Role,
    /// One figure a round.
    pub rounds: Vec<f64>,
}

impl Measured {
    /// In the middle.
    pub fn median(&self) -> f64 {
        median(&self.rounds)
    }

    /// The least and the most.
    pub fn range(&self) -> (f64, f64) {
        let least = self.rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.rounds.iter().copied().fold(0.0, f64::max);
        (least, most)
    }

    /// How often the other's figure goes into this one's: the median of the rounds' ratios.
    pub fn over(&self, other: &Measured) -> f64 {
        let ratios: Vec<f64> = self.rounds.iter().zip(&other.rounds).map(|(one, other)| one / other).collect();
        median(&ratios)
    }
}

/// The value in the middle, or between the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        even if even % 2 == 0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

/// Has the contenders do the work in turns. The figures are nanoseconds a unit.
pub fn paired(mut contenders: Vec<Contender<'_>>, effort: Effort) -> Vec<Measured> {
    let times: Vec<u64> = contenders.iter_mut().map(|contender| times_in(contender, effort.turn)).collect();
    let mut measured: Vec<Measured> = contenders
        .iter()
        .map(|contender| Measured { name: contender.name.clone(), role: contender.role, rounds: Vec::new() })
        .collect();
    for round in 0..effort.rounds {
        for turn in 0..contenders.len() {
            // Nobody always comes after the same one: what that leaves in the caches is shared out.
            let at = (turn + round) % contenders.len();
            let took = (contenders[at].run)(times[at]);
            let units = times[at] * contenders[at].units;
            measured[at].rounds.push(took.as_nanos() as f64 / units as f64);
        }
    }
    measured
}

/// How often a contender does its work in a turn.
fn times_in(contender: &mut Contender<'_>, turn: Duration) -> u64 {
    let mut times = 1;
    loop {
        let took = (contender.run)(times);
        if took * 2 > turn || times > 1 << 40 {
            let one = took.as_nanos().max(1) as f64 / times as f64;
            return ((turn.as_nanos() as f64 / one) as u64).max(1);
        }
        times *= 2;
    }
}
