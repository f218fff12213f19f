//! A balancer of connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};

/// Passes each connection to the next of these ports of loopback that takes it.
///
/// # Errors
/// If the listener takes no more connections.
pub async fn balance(listener: TcpListener, ports: Vec<u16>) -> std::io::Result<()> {
    let (ports, next) = (Arc::new(ports), Arc::new(AtomicUsize::new(0)));
    loop {
        let (mut client, _) = listener.accept().await?;
        client.set_nodelay(true)?;
        let (ports, next) = (Arc::clone(&ports), Arc::clone(&next));
        tokio::spawn(async move {
            for _ in 0..ports.len() {
                let port = ports[next.fetch_add(1, Ordering::Relaxed) % ports.len()];
                let Ok(mut worker) = TcpStream::connect(("127.0.0.1", port)).await else { continue };
                if worker.set_nodelay(true).is_ok() {
                    // It ends with one of the two.
                    drop(tokio::io::copy_bidirectional(&mut client, &mut worker).await);
                }
                return;
            }
        });
    }
}
