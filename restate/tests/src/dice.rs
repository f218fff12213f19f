//! Numbers that look random, from a seed.

/// The same numbers for the same seed.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}
