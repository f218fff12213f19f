//! A program that uses graphweft beside sea-orm.
