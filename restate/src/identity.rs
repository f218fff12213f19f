//! Whether a request was made by a server that this worker knows.

use http::HeaderMap;

/// The keys of the servers that a worker takes requests of; without a key, of any server.
#[derive(Default)]
pub(crate) struct Identity {
    #[cfg(feature = "request-identity")]
    verifier: Option<restate_sdk_shared_core::IdentityVerifier>,
}

impl Identity {
    /// # Errors
    /// The key that cannot be read, and why.
    #[cfg(feature = "request-identity")]
    pub(crate) fn of(keys: &[String]) -> Result<Self, (String, String)> {
        let mut verifier = None::<restate_sdk_shared_core::IdentityVerifier>;
        for key in keys {
            let with_key = verifier.take().unwrap_or_default().with_key(key);
            verifier = Some(with_key.map_err(|error| (key.clone(), error.to_string()))?);
        }
        Ok(Identity { verifier })
    }

    /// # Errors
    /// What is wrong with the signature.
    #[cfg(feature = "request-identity")]
    pub(crate) fn verify(&self, headers: &HeaderMap, path: &str) -> Result<(), String> {
        let Some(verifier) = &self.verifier else { return Ok(()) };
        verifier.verify_identity(headers, path).map_err(|error| error.to_string())
    }

    #[cfg(not(feature = "request-identity"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "with the feature it looks at the keys")]
    pub(crate) fn verify(&self, _: &HeaderMap, _: &str) -> Result<(), String> {
        Ok(())
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "request-identity"))]
mod tests {
    use http::HeaderMap;

    use super::Identity;

    /// A public key, as a server logs it.
    const KEY: &str = "publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f";

    #[test]
    fn a_worker_with_a_key_takes_no_request_that_is_not_signed() {
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static("x-restate-signature-scheme"),
            http::HeaderValue::from_static("unsigned"),
        )]);
        let with_key = Identity::of(&[KEY.to_owned()]).unwrap();
        assert!(with_key.verify(&headers, "/discover").is_err());
        assert!(with_key.verify(&HeaderMap::new(), "/discover").is_err());
        assert!(Identity::of(&[]).unwrap().verify(&headers, "/discover").is_ok());
    }

    #[test]
    fn a_key_that_is_none_is_an_error_that_names_it() {
        let (key, message) = Identity::of(&[KEY.to_owned(), "secret".to_owned()]).unwrap_err();
        assert_eq!(key, "secret");
        assert!(message.contains("publickeyv1_"), "{message}");
    }
}
