//! How many operations a second each protocol does: `cargo bench -p seriatim-machine`.

use std::time::Instant;

use machine::protocol::Name;
use machine::{CacheConfig, Client, CoreKind, Cores, MachineSetup, Network};

fn main() {
    println!("{:16} {:13} {:>12} {:>10} {:>9}", "protocol", "cores", "operations/s", "messages/op", "hits");
    for protocol in Name::ALL {
        for kind in CoreKind::ALL {
            let client = Client { operations: 500_000, locations: 64, writes: 30, seed: 1, ..Client::default() };
            let network = Network { delay: 4, ..Network::default() };
            let caches = CacheConfig { frames: 64, network, evictions: 1, is_checked: false, ..CacheConfig::default() };
            let setup = MachineSetup {
                protocol,
                client,
                caches,
                cores: Cores { kind, idle: 0, ..Cores::default() },
                ..MachineSetup::default()
            };
            let start = Instant::now();
            let mut system = setup.caches().unwrap();
            let mut count = 0u64;
            machine::execute(&mut system, &client, &setup.cores, &mut |_| count += 1);
            let seconds = start.elapsed().as_secs_f64();
            let counts = system.counts();
            println!(
                "{:16} {:13} {:12.0} {:10.1} {:8.0}%",
                protocol.name(),
                kind.name(),
                count as f64 / seconds,
                counts.messages as f64 / count as f64,
                counts.hits as f64 * 100.0 / count as f64
            );
        }
    }
}
