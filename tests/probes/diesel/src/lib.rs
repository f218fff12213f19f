//! A program that uses graphweft beside diesel.
