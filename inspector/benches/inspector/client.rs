//! Requests, and watchers in a process of their own.

use std::error::Error;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

fn request(address: impl std::fmt::Display, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n")
}

/// The time until the last byte of a response, and how many there are.
pub(crate) async fn get(address: SocketAddr, path: &str) -> Result<(Duration, usize), Box<dyn Error>> {
    let begin = Instant::now();
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request(address, path).as_bytes()).await?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await?;
    if !response.starts_with(b"HTTP/1.1 200 ") {
        return Err(format!("{path}: {}", String::from_utf8_lossy(&response)).into());
    }
    Ok((begin.elapsed(), response.len()))
}

/// The median time of some requests.
pub(crate) async fn median(address: SocketAddr, path: &str, times: usize) -> Result<Duration, Box<dyn Error>> {
    let mut all = Vec::new();
    for _ in 0..times {
        all.push(get(address, path).await?.0);
    }
    all.sort();
    Ok(all[all.len() / 2])
}

/// Watchers of one stream; they end when this is dropped.
pub(crate) struct Watchers(Child);

impl Watchers {
    /// Returns when all of them have got something.
    pub(crate) async fn start(address: SocketAddr, path: &str, watchers: usize) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["watch", &address.to_string(), path, &watchers.to_string()]);
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.as_mut().ok_or("it has no output")?;
        BufReader::new(stdout).read_line(&mut line).await?;
        if line != "ready\n" {
            return Err("the watchers have not connected".into());
        }
        Ok(Watchers(child))
    }

    pub(crate) async fn end(mut self) -> std::io::Result<()> {
        self.0.kill().await
    }
}

/// The other process: opens streams and drops what comes.
pub(crate) async fn watch(address: &str, path: &str, watchers: usize) {
    let (heard, mut first) = tokio::sync::mpsc::channel(watchers.max(1));
    let mut all = JoinSet::new();
    for _ in 0..watchers {
        let (address, request, heard) = (address.to_owned(), request(address, path), heard.clone());
        all.spawn(async move {
            let mut stream = TcpStream::connect(&address).await?;
            stream.write_all(request.as_bytes()).await?;
            let mut buffer = vec![0; 1 << 16];
            let mut is_first = true;
            while stream.read(&mut buffer).await? > 0 {
                if std::mem::take(&mut is_first) {
                    _ = heard.send(()).await;
                }
            }
            Ok::<(), std::io::Error>(())
        });
    }
    for _ in 0..watchers {
        _ = first.recv().await;
    }
    println!("ready");
    while let Some(ended) = all.join_next().await {
        if let Ok(Err(error)) = ended {
            eprintln!("a watcher has lost its stream: {error}");
        }
    }
}
