//! The login SCRAM-SHA-256 (RFC 5802, RFC 7677), as PostgreSQL asks for it.

use sha2::{Digest, Sha256};

use crate::base64;

type Hash = [u8; 32];

fn sha256(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// HMAC-SHA-256 (RFC 2104).
fn hmac(key: &[u8], message: &[u8]) -> Hash {
    let mut block = [0; 64];
    if key.len() > 64 {
        block[..32].copy_from_slice(&sha256(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |with: u8| block.map(|byte| byte ^ with);
    let inner = sha256(&[&padded(0x36)[..], message].concat());
    sha256(&[&padded(0x5c)[..], &inner].concat())
}

/// PBKDF2 with HMAC-SHA-256, one block.
fn salted(password: &[u8], salt: &[u8], rounds: u32) -> Hash {
    let mut last = hmac(password, &[salt, &[0, 0, 0, 1]].concat());
    let mut result = last;
    for _ in 1..rounds {
        last = hmac(password, &last);
        result.iter_mut().zip(last).for_each(|(byte, other)| *byte ^= other);
    }
    result
}

/// The login of a client. The name is not sent: the server has it already.
pub(crate) struct Login {
    nonce: String,
}

impl Login {
    /// A login with a number that is used once.
    pub fn new(nonce: String) -> Self {
        Self { nonce }
    }

    /// The first message of the client.
    pub fn first(&self) -> String {
        format!("n,,n=,r={}", self.nonce)
    }

    /// The answer to the first message of the server. `None` if that is no such message.
    pub fn answer(&self, password: &str, server: &str) -> Option<String> {
        let field = |name: &str| server.split(',').find_map(|part| part.strip_prefix(name));
        let nonce = field("r=").filter(|nonce| nonce.starts_with(&self.nonce))?;
        let salt = base64::decode(field("s=")?)?;
        // A server that asks for more than this wants to keep us busy.
        let rounds: u32 = field("i=")?.parse().ok().filter(|rounds| (1..=1_000_000).contains(rounds))?;
        let key = salted(password.as_bytes(), &salt, rounds);
        let client = hmac(&key, b"Client Key");
        let without_proof = format!("c=biws,r={nonce}");
        let signed = format!("n=,r={},{server},{without_proof}", self.nonce);
        let signature = hmac(&sha256(&client), signed.as_bytes());
        let proof: Vec<u8> = client.iter().zip(signature).map(|(byte, other)| byte ^ other).collect();
        Some(format!("{without_proof},p={}", base64::encode(&proof)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_7677() {
        // The example has the name `user`, which is a part of what is signed; so only its key is compared.
        let salt = base64::decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let key = salted(b"pencil", &salt, 4096);
        let client = hmac(&key, b"Client Key");
        let server = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let signed = format!(
            "n=user,r=rOprNGfwEbeRWgbNEkqO,{server},c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
        );
        let signature = hmac(&sha256(&client), signed.as_bytes());
        let proof: Vec<u8> = client.iter().zip(signature).map(|(byte, other)| byte ^ other).collect();
        assert_eq!(base64::encode(&proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        assert!(Login::new("abc".into()).answer("x", "r=other,s=AA==,i=1").is_none());
    }
}
