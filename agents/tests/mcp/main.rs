//! Tools of servers of the Model Context Protocol. The servers need Node.js, and `npm ci` in `agents/mcp`.

mod everything;
mod scene;
mod statuses;
mod steps;
mod unreliable;
