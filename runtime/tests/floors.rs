//! The floors of the crate: a module uses only what stands on a lower floor, and no files use each other in a circle.
//! ARCHITECTURE.md draws them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// The modules of the crate, the lowest floor first.
const FLOORS: &[&[&str]] = &[
    &["field", "guide", "run_id"],
    &[
        "block_on",
        "box_value",
        "clock",
        "error_text",
        "fault",
        "lazy",
        "mapped",
        "options",
        "resource",
        "route",
        "sorted",
        "state_write",
        "sync",
        "value",
    ],
    &["around", "catch", "core", "event", "executor", "fingerprint", "node_facts", "node_info", "schema"],
    &["asked", "trace"],
    &["draft", "meter", "store"],
    &["halt", "state"],
    &["run_error"],
    &["question", "signal"],
    &["shared"],
    &["requests"],
    &["attempt"],
    &["context"],
    &["table"],
    &["graph"],
    &["compile", "node"],
    &["collectors", "driver", "pool", "replacement"],
    &["workflow"],
    &["engine", "typed"],
    &["child"],
    &["ask", "scope", "sqlite_transactions"],
    &["pool_requests", "testing"],
];

/// Not part of the program: what tests are made of.
const TESTS: &[&str] = &["tests", "tests.rs", "loom_models.rs", "json_graphs", "observed.rs", "snapshot.rs"];

/// The files of a crate, by the path of their module.
struct House {
    files: BTreeMap<Vec<String>, syn::File>,
}

impl House {
    fn of(src: &Path) -> House {
        let mut found = Vec::new();
        sources(src, &mut found);
        let read = |file: PathBuf| {
            let inside = file.strip_prefix(src).unwrap().with_extension("");
            let mut module: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
                module.pop();
            }
            let text = fs::read_to_string(&file).unwrap();
            (module, syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display())))
        };
        House { files: found.into_iter().map(read).collect() }
    }

    /// The file in which a path leads to something, and what of the path is left there.
    fn leads_to<'p>(&self, path: &'p [String]) -> (Vec<String>, &'p [String]) {
        let at = (0..=path.len()).rev().find(|at| self.files.contains_key(&path[..*at])).unwrap_or(0);
        (path[..at].to_vec(), &path[at..])
    }

    /// Which files each file uses, where what is handed on counts for the file that defines it.
    fn uses(&self) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
        let named: BTreeMap<&Vec<String>, Named> =
            self.files.iter().map(|(module, file)| (module, Named::in_file(module, file))).collect();
        let mut handed_on = BTreeMap::new();
        for (module, named) in &named {
            for (name, path) in &named.handed_on {
                handed_on.insert(((*module).clone(), name.clone()), path.clone());
            }
        }
        let defined_in = |path: &[String]| {
            let mut path = path.to_vec();
            // A name may be handed on several times.
            for _ in 0..8 {
                let (file, left) = self.leads_to(&path);
                let Some(next) = left.first().and_then(|name| handed_on.get(&(file.clone(), name.clone()))) else {
                    return file;
                };
                path = next.iter().chain(&left[1..]).cloned().collect();
            }
            self.leads_to(&path).0
        };
        let uses = named.iter().map(|(module, named)| {
            let files: BTreeSet<_> = named.used.iter().map(|path| defined_in(path)).collect();
            ((*module).clone(), files.into_iter().filter(|file| file != *module).collect())
        });
        uses.collect()
    }
}

fn sources(of: &Path, found: &mut Vec<PathBuf>) {
    let name = of.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if TESTS.contains(&name.as_str()) {
        return;
    }
    if of.is_dir() {
        for entry in fs::read_dir(of).unwrap() {
            sources(&entry.unwrap().path(), found);
        }
    } else if of.extension().is_some_and(|extension| extension == "rs") {
        found.push(of.to_owned());
    }
}

/// The paths of the crate that a file names, from its root.
#[derive(Default)]
struct Named {
    module: Vec<String>,
    used: Vec<Vec<String>>,
    /// What `pub use` hands on, by the name that it has here.
    handed_on: Vec<(String, Vec<String>)>,
}

impl Named {
    fn in_file(module: &[String], file: &syn::File) -> Named {
        let mut named = Named { module: module.to_vec(), ..Named::default() };
        named.visit_file(file);
        named
    }

    /// A path of another crate comes to be one inside of this file, which leads nowhere else.
    fn in_crate(&self, path: &[String]) -> Vec<String> {
        let mut from = self.module.clone();
        for part in path {
            match part.as_str() {
                "crate" => from.clear(),
                "self" => {}
                "super" => drop(from.pop()),
                part => from.push(part.to_owned()),
            }
        }
        from
    }

    fn tree(&mut self, before: &[String], tree: &syn::UseTree, hands_on: bool) {
        let with = |name: &syn::Ident| before.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>();
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree, hands_on),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(before, tree, hands_on)),
            syn::UseTree::Name(name) => self.name(&with(&name.ident), &name.ident, hands_on),
            syn::UseTree::Rename(rename) => self.name(&with(&rename.ident), &rename.rename, hands_on),
            syn::UseTree::Glob(_) => {}
        }
    }

    fn name(&mut self, path: &[String], name: &syn::Ident, hands_on: bool) {
        let path = self.in_crate(path);
        if hands_on {
            self.handed_on.push((name.to_string(), path.clone()));
        }
        // A module hands on what its own parts define: it does not use it.
        if !(hands_on && path.starts_with(&self.module)) {
            self.used.push(path);
        }
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        list.path.is_ident("cfg") && ["test", "graphweft_loom"].contains(&list.tokens.to_string().as_str())
    })
}

impl<'f> Visit<'f> for Named {
    fn visit_item(&mut self, item: &'f syn::Item) {
        let (syn::Item::Mod(syn::ItemMod { attrs, .. })
        | syn::Item::Use(syn::ItemUse { attrs, .. })
        | syn::Item::Fn(syn::ItemFn { attrs, .. })) = item
        else {
            return visit::visit_item(self, item);
        };
        if !is_for_tests(attrs) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'f syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'f syn::ItemUse) {
        self.tree(&[], &item.tree, !matches!(item.vis, syn::Visibility::Inherited));
    }

    fn visit_path(&mut self, path: &'f syn::Path) {
        let parts: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if parts.len() > 1 {
            self.used.push(self.in_crate(&parts));
        }
        visit::visit_path(self, path);
    }
}

fn src(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(of).join("src")
}

#[test]
fn a_module_uses_only_what_stands_on_a_lower_floor() {
    let floor_of: BTreeMap<&str, usize> =
        FLOORS.iter().enumerate().flat_map(|(floor, names)| names.iter().map(move |name| (*name, floor))).collect();
    let mut broken = Vec::new();
    let mut seen = BTreeSet::new();
    for (module, uses) in House::of(&src("runtime")).uses() {
        // The root hands on what users see, and the simulator is a test.
        let Some(own) = module.first().filter(|own| *own != "sim") else { continue };
        seen.insert(own.clone());
        let Some(floor) = floor_of.get(own.as_str()) else {
            broken.push(format!("`{own}` is on no floor"));
            continue;
        };
        for used in uses {
            let Some(name) = used.first() else {
                broken.push(format!("`{}` names something by the root of the crate", module.join("::")));
                continue;
            };
            if name != own && floor_of.get(name.as_str()).is_none_or(|used| used >= floor) {
                broken.push(format!("`{}` uses `{}`", module.join("::"), used.join("::")));
            }
        }
    }
    broken.extend(floor_of.keys().filter(|name| !seen.contains(**name)).map(|name| format!("there is no `{name}`")));
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn no_files_use_each_other_in_a_circle() {
    for of in ["runtime", "macros/core", "graph"] {
        let mut uses = House::of(&src(of)).uses();
        // The simulator is a test.
        uses.retain(|module, _| module.first().is_none_or(|module| module != "sim"));
        // What uses nothing that is left stands on solid ground.
        loop {
            let standing: Vec<Vec<String>> = uses.keys().cloned().collect();
            uses.retain(|_, used| used.iter().any(|used| standing.contains(used)));
            if uses.len() == standing.len() {
                break;
            }
        }
        // What nothing that is left uses only leads into a circle.
        loop {
            let used: BTreeSet<Vec<String>> = uses.values().flatten().cloned().collect();
            let before = uses.len();
            uses.retain(|module, _| used.contains(module));
            if uses.len() == before {
                break;
            }
        }
        let arrows = uses.iter().flat_map(|(module, used)| {
            let in_circle = used.iter().filter(|used| uses.contains_key(*used));
            in_circle.map(move |used| format!("`{}` uses `{}`", module.join("::"), used.join("::")))
        });
        let arrows: Vec<String> = arrows.collect();
        assert!(arrows.is_empty(), "{of}:\n{}", arrows.join("\n"));
    }
}
