//! The live page of a service: its rates, its lag, its last violations with their drawings. The page is the same for
//! every service. Its program asks the server that gave it for `/state.json`, once a second, and shows that as text.

/// The program of the page, and its style: what `page/build.mjs` makes of `page/src/live.ts` and `live.css`.
const PROGRAM: &str = include_str!("../../page/dist/live.js");
const STYLE: &str = include_str!("../../page/dist/live.css");

/// What the page may do, as a `Content-Security-Policy`: run its own program, and ask its own server.
pub const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' \
                          data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page.
pub fn page() -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<meta \
         name=\"generator\" content=\"seriatim {}\">\n<link rel=\"icon\" href=\"data:,\">\n<title>seriatim \
         monitor</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n<div id=\"live\"></div>\n<noscript>This page needs JavaScript; the numbers are at <a \
         href=\"/metrics\">/metrics</a>.</noscript>\n<script>{PROGRAM}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}
