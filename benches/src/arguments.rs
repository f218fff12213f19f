//! What the program is told.

use std::path::PathBuf;

const HELP: &str = "\
Measures graphweft against the same work written by hand, and prints a table.

  --peers            other libraries do the work as well, in the same run; they are built first
  --quick            a few rounds of everything, to see that it works
  --only PART        in-memory, durable, resume, scale or compile; may be repeated
  --directory PATH   where files of runs are made: its file system is what is measured; the system's default
  --json PATH        where the figures go; target/speed.json in benches
  --page PATH        a page whose part between `<!-- table -->` and `<!-- end of table -->` is to be the table
  --table NAME       the name of that part, instead of `table`

CARGO_PROFILE_RELEASE_LTO=thin CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 builds everything as servers are built, the other
libraries too.";

pub(crate) enum Wanted {
    Table(Arguments),
    /// What [`graphweft_benches::scale`] has another process measure.
    Child {
        name: String,
        count: u64,
        directory: PathBuf,
    },
}

pub(crate) struct Arguments {
    pub(crate) has_peers: bool,
    pub(crate) is_quick: bool,
    pub(crate) parts: Vec<Part>,
    pub(crate) directory: PathBuf,
    pub(crate) json: PathBuf,
    pub(crate) page: Option<PathBuf>,
    pub(crate) table: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    InMemory,
    Durable,
    Resume,
    Scale,
    Compile,
}

impl Part {
    const ALL: [Part; 5] = [Part::InMemory, Part::Durable, Part::Resume, Part::Scale, Part::Compile];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Part::InMemory => "in-memory",
            Part::Durable => "durable",
            Part::Resume => "resume",
            Part::Scale => "scale",
            Part::Compile => "compile",
        }
    }
}

impl Arguments {
    /// What is wanted, or how to say it.
    pub(crate) fn read(given: impl Iterator<Item = String>) -> Result<Wanted, String> {
        let mut arguments = Arguments {
            has_peers: false,
            is_quick: false,
            parts: Vec::new(),
            directory: std::env::temp_dir(),
            json: PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target/speed.json")),
            page: None,
            table: "table".to_owned(),
        };
        let mut given = given;
        while let Some(name) = given.next() {
            let mut value = || given.next().ok_or_else(|| format!("`{name}` wants a value\n\n{HELP}"));
            match name.as_str() {
                "--peers" => arguments.has_peers = true,
                "--quick" => arguments.is_quick = true,
                "--only" => {
                    let part = value()?;
                    let part = Part::ALL.into_iter().find(|known| known.name() == part);
                    arguments.parts.push(part.ok_or_else(|| HELP.to_owned())?);
                }
                "--directory" => arguments.directory = value()?.into(),
                "--json" => arguments.json = value()?.into(),
                "--page" => arguments.page = Some(value()?.into()),
                "--table" => arguments.table = value()?,
                "--child" => {
                    let (name, count) = (value()?, value()?.parse().map_err(|_| HELP.to_owned())?);
                    return Ok(Wanted::Child { name, count, directory: value()?.into() });
                }
                _ => return Err(HELP.to_owned()),
            }
        }
        if arguments.parts.is_empty() {
            arguments.parts.extend(Part::ALL);
        }
        if let Some(directory) = arguments.json.parent() {
            // Where it cannot be made, writing the file says why.
            drop(std::fs::create_dir_all(directory));
        }
        Ok(Wanted::Table(arguments))
    }
}
