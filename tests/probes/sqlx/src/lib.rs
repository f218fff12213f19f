//! A program that uses graphweft beside sqlx.
