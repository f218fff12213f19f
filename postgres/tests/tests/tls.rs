//! Connections with TLS.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use graphweft::prelude::*;
use graphweft::store::StoreError;
use graphweft_postgres::PostgresStore;
use graphweft_postgres_tests::certificates::Certificates;
use graphweft_postgres_tests::server::Server;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

#[node]
async fn add(n: u64) -> u64 {
    n + 1
}

workflow! { pub plus(u64) -> u64 { START => add; add => END; } }

/// Trusts what this authority has signed.
fn trusting(authority: &Path) -> MakeRustlsConnect {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    MakeRustlsConnect::new(config.with_root_certificates(roots).with_no_client_auth())
}

fn with_tls(certificates: &Certificates) -> (Server, String) {
    Server::with_tls(&certificates.path("server.pem"), &certificates.path("server.key"))
}

#[tokio::test(flavor = "multi_thread")]
async fn all_connections_of_a_store_and_of_its_engines_are_encrypted() {
    let certificates = Certificates::new();
    let (_server, address) = with_tls(&certificates);
    let store = PostgresStore::builder(&format!("{address} sslmode=require"));
    let store = store.connect_with(trusting(&certificates.path("authority.pem"))).await.unwrap();
    let engine = Engine::builder().store(store.clone()).register::<plus>().build().unwrap();
    engine.recover().await.unwrap();

    assert_eq!(engine.start::<plus>(41).id("order-7").await.unwrap().result().await.unwrap(), 42);

    let client = graphweft_postgres_tests::client_of(&format!("{address} sslmode=disable"), "graphweft").await;
    let select = "select count(*) filter (where ssl), count(*) from pg_stat_ssl join pg_stat_activity using (pid)
        where application_name = 'graphweft'";
    let row = client.query_one(select, &[]).await.unwrap();
    let (encrypted, all): (i64, i64) = (row.get(0), row.get(1));
    // One of the pool, and that of the engine.
    assert!(all >= 2 && encrypted == all, "{encrypted} of {all}");
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_an_unknown_authority_is_refused_at_once_and_said() {
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let (_server, address) = with_tls(&certificates);
    // By `prefer`, which is the default, nothing is sent in clear either, as the server has TLS.
    for address in [format!("{address} sslmode=require"), address] {
        let begun = Instant::now();
        let error = PostgresStore::builder(&address).connect_with(trusting(&others.path("authority.pem"))).await;
        let error = error.unwrap_err();
        assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("UnknownIssuer") && text.contains("trust the authority"), "{text}");
        assert!(begun.elapsed() < Duration::from_secs(5), "it is not tried again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_for_another_host_is_refused_and_said() {
    let certificates = Certificates::new();
    let (_server, address) = with_tls(&certificates);
    let address = format!("{} sslmode=require", address.replace("localhost", "db.internal"));
    let error = PostgresStore::builder(&address).connect_with(trusting(&certificates.path("authority.pem"))).await;
    let error = error.unwrap_err();
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("`db.internal:") && text.contains("for the host in the address"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_refused_if_the_address_requires_it() {
    let certificates = Certificates::new();
    let (_server, address) = Server::on_port();
    let required = PostgresStore::builder(&format!("{address} sslmode=require"));
    let error = required.connect_with(trusting(&certificates.path("authority.pem"))).await.unwrap_err();
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("server does not support TLS") && text.contains("`ssl = on`"), "{text}");
    // By default it is used in clear.
    PostgresStore::builder(&address).connect_with(trusting(&certificates.path("authority.pem"))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_requires_tls_wants_a_connector() {
    let certificates = Certificates::new();
    let (_server, address) = with_tls(&certificates);
    let error = PostgresStore::connect(&format!("{address} sslmode=require")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    assert!(error.to_string().contains("`.connect_with(..)`"), "{error}");
}
