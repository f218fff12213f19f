//! Random numbers.

use std::hash::{BuildHasher, RandomState};

/// Uniform random numbers in `0.0..1.0` (splitmix64, seeded when it is first used).
#[derive(Default)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn next(&mut self) -> f64 {
        if self.0 == 0 {
            self.0 = RandomState::new().hash_one(std::ptr::from_ref(self) as usize) | 1;
        }
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}
