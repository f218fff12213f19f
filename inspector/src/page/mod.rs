//! The page, which is part of the program.

mod files;

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, LazyLock};

use axum::body::Bytes;
use axum::extract::{OriginalUri, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

pub use files::FILES;

use crate::problem::Problem;
use crate::state::Inspected;

struct File {
    kind: &'static str,
    etag: String,
    plain: Bytes,
    zipped: Bytes,
}

/// By the path below the page, without `/` at its beginning. Compressed once.
static SERVED: LazyLock<HashMap<&'static str, File>> =
    LazyLock::new(|| FILES.iter().map(|(path, bytes)| (*path, File::of(path, Bytes::from_static(bytes)))).collect());

impl File {
    fn of(path: &str, plain: Bytes) -> File {
        let kind = kind_of(path);
        let etag = format!("\"{}\"", uuid::Uuid::from_u128(hash(&plain)).simple());
        // What is compressed already does not get smaller.
        let zipped =
            if kind.starts_with("image/png") || kind.starts_with("font/") { Bytes::new() } else { zip(&plain) };
        File { kind, etag, plain, zipped }
    }
}

fn kind_of(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("json") => "application/json",
        Some("woff2") => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// FNV-1a. It tells versions of a file apart, and protects nothing.
fn hash(bytes: &[u8]) -> u128 {
    let step =
        |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013B);
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step)
}

pub(crate) fn zip(bytes: &[u8]) -> Bytes {
    let mut to = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    match to.write_all(bytes).and_then(|()| to.finish()) {
        Ok(zipped) => zipped.into(),
        Err(_) => Bytes::new(),
    }
}

/// Whether the client reads what is compressed.
pub(crate) fn unzips(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    accepts.flat_map(|list| list.split(',')).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        is_gzip && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

/// A file of the page, or the page itself for any path of it: its router knows them.
pub(crate) async fn page(State(inspected): State<Inspected>, uri: OriginalUri, request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let detail = "the page is read by GET";
        return Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no_such_method", detail).into_response();
    }
    let path = request.uri().path();
    let (headers, path) = (request.headers(), path.strip_prefix('/').unwrap_or(path));
    if let Some(file) = SERVED.get(path).filter(|_| path != "index.html") {
        return send(file, headers);
    }
    // A file that is not there is not the page, which a browser would read as a script.
    if path.starts_with("assets/") {
        return Problem::new(StatusCode::NOT_FOUND, "no_such_file", "the page has no such file").into_response();
    }
    index(&inspected, uri.path(), request.uri().path())
}

fn send(file: &File, headers: &HeaderMap) -> Response {
    let is_known = headers.get_all(header::IF_NONE_MATCH).iter().any(|sent| {
        let mut tags = sent.to_str().unwrap_or_default().split(',').map(str::trim);
        tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == file.etag)
    });
    let (mut response, is_zipped) = match (is_known, unzips(headers) && !file.zipped.is_empty()) {
        (true, _) => (StatusCode::NOT_MODIFIED.into_response(), false),
        (false, true) => (file.zipped.clone().into_response(), true),
        (false, false) => (file.plain.clone().into_response(), false),
    };
    let mut add = |name, value: &str| {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(name, value);
        }
    };
    if is_zipped {
        add(header::CONTENT_ENCODING, "gzip");
    }
    add(header::CONTENT_TYPE, file.kind);
    add(header::VARY, "Accept-Encoding");
    add(header::ETAG, &file.etag);
    // Its name stays when it changes, so it is asked for again, and mostly not sent.
    add(header::CACHE_CONTROL, "no-cache");
    response
}

/// What is sent where the program was built without the page.
const WITHOUT: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>graphweft</title></head><body><p>The \
                       page is not in this program. The API is at <a href=\"./api/openapi.json\">api/openapi.json</a>.</p></body>\
                       </html>";

/// The page, with where it is mounted and with the token of this start.
fn index(inspected: &Inspected, whole: &str, below: &str) -> Response {
    let file = FILES.iter().find(|(path, _)| *path == "index.html").map(|(_, bytes)| *bytes);
    let html = file.map_or(WITHOUT.into(), String::from_utf8_lossy);
    // Mounted at `/runs`, the page is at `/runs` as well, and `/runs//x` is below the same mount.
    let mount = whole.strip_suffix(below).unwrap_or(if below == "/" { whole } else { "" });
    let mount = escaped(mount.trim_end_matches('/'));
    // No `<base>`: the links of the page, which are fragments, would leave the path that it was opened with.
    let html = html.replace("=\"./", &format!("=\"{mount}/"));
    let mut head = format!("<head><meta name=\"graphweft-mount\" content=\"{mount}/\">");
    if let Some(token) = &inspected.token {
        head.push_str(&format!("<meta name=\"graphweft-token\" content=\"{}\">", escaped(token)));
    }
    let html: Arc<str> = html.replacen("<head>", &head, 1).into();
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-store")], html.to_string())
        .into_response()
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            char => safe.push(char),
        }
    }
    safe
}
