//! Several engines over one database.
