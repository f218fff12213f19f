//! A server on the loopback that sends recorded replies, and remembers what it was asked.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use graphweft::Json;

/// The bytes that go out at once. Small, so that events and letters are split.
const PIECE: usize = 7;

/// How long a test waits for something that has to come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A reply as it is on the wire.
#[derive(Clone)]
pub(crate) struct Recorded {
    text: String,
    /// The connection stays open after it.
    is_held: bool,
}

impl Recorded {
    /// The section of this name in a file of them.
    pub(crate) fn section(file: &str, name: &str) -> Recorded {
        let held = format!("{name} (held)");
        let section = file.split("\n=== ").skip(1).filter_map(|section| section.split_once('\n'));
        let mut matching = section.filter(|(title, _)| *title == name || *title == held);
        let (title, text) = matching.next().unwrap_or_else(|| panic!("there is no section `{name}`"));
        // The last line end of a section belongs to the next one's title.
        Recorded { text: text.to_owned(), is_held: title == held }
    }

    pub(crate) fn replacing(mut self, from: &str, to: &str) -> Recorded {
        self.text = self.text.replace(from, to);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let (head, body) = self.text.split_once("\n\n").expect("a head and a body");
        format!("{}\r\nconnection: close\r\n\r\n{body}", head.replace('\n', "\r\n")).into_bytes()
    }
}

/// A request that has arrived.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// In small letters.
    pub(crate) head: String,
    pub(crate) body: Json,
}

pub(crate) struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    closed: Arc<Mutex<Receiver<()>>>,
}

impl Server {
    /// Sends these replies, one for each connection. Later connections are closed without one.
    pub(crate) fn with(replies: impl IntoIterator<Item = Recorded>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (closing, closed) = channel();
        let replies: Vec<Recorded> = replies.into_iter().collect();
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for (reply, socket) in replies.into_iter().zip(listener.incoming()) {
                let (log, closing) = (Arc::clone(&log), closing.clone());
                std::thread::spawn(move || serve(&reply, socket.expect("a connection"), &log, &closing));
            }
        });
        Server { address, asked, closed: Arc::new(Mutex::new(closed)) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Waits until the client has closed a connection that is held.
    pub(crate) async fn is_closed_by_the_client(&self) {
        let closed = Arc::clone(&self.closed);
        let wait = move || closed.lock().unwrap().recv_timeout(PATIENCE);
        tokio::task::spawn_blocking(wait).await.unwrap().expect("the client closes the connection");
    }
}

fn serve(reply: &Recorded, mut socket: TcpStream, log: &Mutex<Vec<Asked>>, closed: &Sender<()>) {
    let _ = socket.set_nodelay(true);
    let Some(asked) = read(&mut socket) else { return };
    log.lock().unwrap().push(asked);
    let bytes = reply.bytes();
    // A reply of megabytes in such pieces would take the test's time.
    let piece = if bytes.len() > 100_000 { 65_536 } else { PIECE };
    let is_sent = bytes.chunks(piece).all(|piece| socket.write_all(piece).is_ok());
    if reply.is_held {
        if is_sent {
            let _ = socket.read(&mut [0; 1]);
        }
        let _ = closed.send(());
    }
}

fn read(socket: &mut TcpStream) -> Option<Asked> {
    let mut all = Vec::new();
    let mut piece = [0; 65_536];
    loop {
        let count = socket.read(&mut piece).ok().filter(|count| *count > 0)?;
        all.extend_from_slice(&piece[..count]);
        let Some(end) = all.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())?;
        let body = &all[end + 4..];
        if body.len() >= length {
            return Some(Asked { head, body: serde_json::from_slice(body).ok()? });
        }
    }
}
