//! What this machine is, in one line.

use std::fs;

/// The processor, how many of them there are, and the memory.
pub fn describe() -> String {
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let value = text.lines().find_map(|line| Some(line.strip_prefix(name)?.split_once(':')?.1.trim().to_owned()));
        value.unwrap_or_else(|| "unknown".to_owned())
    };
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = field("/proc/meminfo", "MemTotal");
    let gigabytes = memory.split(' ').next().and_then(|kilobytes| kilobytes.parse::<f64>().ok());
    let memory = gigabytes.map_or(memory, |kilobytes| format!("{:.0} GB", kilobytes / 1e6));
    format!(
        "{} x {count}, {memory}, {} {}",
        field("/proc/cpuinfo", "model name"),
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}
