//! The trial of the heuristics of the engines.
//!
//! A [`Point`] is a generated history and what is asked of it: a model of a memory, on a grid of so many threads,
//! locations and operations, valid or with one perturbed read; or whether the run of an object is linearizable. At each
//! point *contenders* decide: the default, the default without one heuristic (its knobs switch it off), and for a
//! memory plain saturation and search, without a run. Contenders take turns, each time in a process of its own. The
//! least time of the processor and the peak of the memory that is [allocated](crate::allocated) count, both without the
//! making of the history. Where the default seems to lose, more rounds tell whether that was noise.
//!
//! A heuristic stays if it wins [`WINS`] times at some point, in time or memory, and loses nowhere more than [`LOSES`]
//! times. The default may nowhere lose more than that to plain saturation and search.
//!
//! What was measured is kept in a file as the trial goes on: a line for each contender at each point, with the default
//! that took turns with it. So a trial may be stopped, and goes on; and the table is that of the whole file.

mod heuristics;
mod points;

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use model::{Model, Verdict};

use heuristics::{GONE, HEURISTICS, Heuristic};
use points::MemoryPoint;
pub use points::{Point, Setting, each, sample};

/// How many times a heuristic must win somewhere.
const WINS: f64 = 1.5;
/// How many times it may lose at most.
const LOSES: f64 = 1.1;
/// What is shorter or smaller counts as this much, in milliseconds and in MB: less cannot be told from noise.
const NOISE: [f64; 2] = [2.0, 4.0];
/// What is compared.
const WHAT: [&str; 2] = ["time", "memory"];
/// How many times as many rounds there are where the default seems to lose.
const DOUBTED: u32 = 3;

/// The names of the heuristics.
pub fn names() -> impl Iterator<Item = &'static str> {
    HEURISTICS.iter().map(|heuristic| heuristic.name)
}

/// The points of a trial, and how each is measured.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Whether runs of objects are measured.
    pub objects: bool,
    /// Whether what is beside the grid is measured: many short threads, and many components.
    pub beside: bool,
    /// The machines.
    pub machines: Vec<Model>,
    /// How many threads.
    pub threads: Vec<u32>,
    /// How many locations.
    pub locations: Vec<u32>,
    /// How many operations.
    pub operations: Vec<u32>,
    /// How many reads are perturbed.
    pub perturbed: Vec<u32>,
    /// The heuristics; if there are none, only the default and the plain search are measured.
    pub heuristics: Vec<String>,
    /// Settings of knobs, `NAME=VALUE`, that the default is compared with, too.
    pub knobs: Vec<String>,
    /// How often each contender is measured.
    pub rounds: u32,
    /// How long a decision may take.
    pub limit: Duration,
    /// Where all random choices start.
    pub seed: u64,
}

/// What one decision cost, and what it was.
#[derive(Clone, Debug)]
struct Sample {
    milliseconds: f64,
    megabytes: f64,
    verdict: String,
    tactic: String,
}

impl Sample {
    /// Takes what is less.
    fn improve(&mut self, now: Self) {
        let milliseconds = self.milliseconds.min(now.milliseconds);
        *self = Self { milliseconds, megabytes: self.megabytes.min(now.megabytes), ..now };
    }
}

/// A contender: its name, and the flags that its process gets.
struct Contender {
    name: String,
    flags: Vec<String>,
}

impl Contender {
    fn default() -> Self {
        Self { name: "default".to_owned(), flags: Vec::new() }
    }

    fn plain() -> Self {
        let flags = ["--strategy", "search", "--knob", "store.guesses=0"].map(str::to_owned).to_vec();
        Self { name: PLAIN.to_owned(), flags }
    }

    fn without(heuristic: &Heuristic) -> Self {
        let flags = heuristic.off.iter().flat_map(|(knob, value)| ["--knob".to_owned(), format!("{knob}={value}")]);
        Self { name: heuristic.name.to_owned(), flags: flags.collect() }
    }
}

/// The contender that has saturation and search alone.
const PLAIN: &str = "plain";

/// The contenders at a point beside the default.
fn contenders(grid: &Grid, point: Point) -> Vec<Contender> {
    let has_plain = matches!(point, Point::Memory(MemoryPoint { machine, model, .. }) if machine == model);
    let plain = has_plain.then(Contender::plain);
    let wanted = HEURISTICS.iter().filter(|it| grid.heuristics.iter().any(|name| name == it.name));
    let here = wanted.filter(|it| it.is_at(point));
    let set =
        grid.knobs.iter().map(|knob| Contender { name: knob.clone(), flags: vec!["--knob".into(), knob.clone()] });
    plain.into_iter().chain(here.map(Contender::without)).chain(set).collect()
}

/// What a contender cost at one point, and the default that took turns with it: a line of the file of a trial.
#[derive(Clone, Debug)]
struct Comparison {
    point: Point,
    name: String,
    rounds: u32,
    own: Sample,
    default: Sample,
}

impl Comparison {
    /// The first line of the file.
    const HEAD: &str = "point,without,rounds,ms,MB,verdict,tactic,default ms,default MB,default verdict,default tactic";

    fn text(&self) -> String {
        let Self { point, name, rounds, own, default } = self;
        let sample = |it: &Sample| format!("{:.1},{:.0},{},{}", it.milliseconds, it.megabytes, it.verdict, it.tactic);
        format!("{},{name},{rounds},{},{}", point.text(), sample(own), sample(default))
    }

    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let sample = |at: usize| {
            let &[milliseconds, megabytes, verdict, tactic] = fields.get(at..at + 4)? else { return None };
            let (milliseconds, megabytes) = (milliseconds.parse().ok()?, megabytes.parse().ok()?);
            Some(Sample { milliseconds, megabytes, verdict: verdict.to_owned(), tactic: tactic.to_owned() })
        };
        Some(Self {
            point: Point::parse(fields.first()?)?,
            name: (*fields.get(1)?).to_owned(),
            rounds: fields.get(2)?.parse().ok()?,
            own: sample(3)?,
            default: sample(7)?,
        })
    }

    /// How many times as long the contender takes, and how many times as much memory: more than one means that the
    /// default wins.
    fn ratios(&self) -> [f64; 2] {
        let ratio = |of: fn(&Sample) -> f64, noise: f64| of(&self.own).max(noise) / of(&self.default).max(noise);
        [ratio(|it| it.milliseconds, NOISE[0]), ratio(|it| it.megabytes, NOISE[1])]
    }

    /// Whether the default loses more than it may.
    fn is_lost(&self) -> bool {
        self.ratios().iter().any(|ratio| 1.0 / ratio > LOSES)
    }

    /// The error, if both say something, and not the same.
    fn agrees(&self) -> Result<(), String> {
        let (own, default) = (&self.own.verdict, &self.default.verdict);
        let unknown = Verdict::Unknown.name();
        if own == default || own == unknown || default == unknown {
            return Ok(());
        }
        Err(format!("{}: the default says {default}, and without {} it is {own}", self.point.shown(), self.name))
    }
}

/// The lines of a file of a trial.
fn parse(text: &str) -> Result<Vec<Comparison>, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && *line != Comparison::HEAD);
    lines.map(|line| Comparison::parse(line).ok_or_else(|| format!("not a line of a trial: {line}"))).collect()
}

/// What measures a contender at a point once.
type Measure<'a> = &'a mut dyn FnMut(Point, &Contender) -> Result<Sample, String>;

/// Runs a trial, from where the file of it stopped. `command` is this command, which decides one point at a time.
/// `about` is said in the file of who measured what; `progress` gets what is measured next. The answer is the table of
/// the whole file.
pub fn run(
    grid: &Grid,
    command: &Path,
    path: &Path,
    about: &str,
    progress: &mut dyn FnMut(&str),
) -> Result<String, String> {
    resume(grid, path, about, &mut |point, contender| {
        if contender.flags.is_empty() {
            progress(&point.shown());
        }
        measure(grid, command, point, contender)
    })
}

fn resume(grid: &Grid, path: &Path, about: &str, measure: Measure<'_>) -> Result<String, String> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let text = if path.exists() { fs::read_to_string(path).map_err(told)? } else { String::new() };
    // What follows the last whole line was cut off when the trial was stopped.
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(told)?;
    file.set_len(whole as u64).map_err(told)?;
    let mut done = parse(&text[..whole])?;
    if whole == 0 {
        writeln!(file, "{}", Comparison::HEAD).map_err(told)?;
    }
    let mut is_said = false;
    for point in points(grid) {
        let mut missing = contenders(grid, point);
        missing.retain(|it| {
            !done.iter().any(|done| done.point == point && done.name == it.name && done.rounds >= grid.rounds)
        });
        if missing.is_empty() {
            continue;
        }
        if !std::mem::replace(&mut is_said, true) {
            writeln!(file, "# {about}").map_err(told)?;
        }
        for comparison in compare(grid, point, &missing, measure)? {
            writeln!(file, "{}", comparison.text()).map_err(told)?;
            comparison.agrees()?;
            done.push(comparison);
        }
    }
    Ok(table(&done))
}

/// The default and these contenders at a point.
fn compare(
    grid: &Grid,
    point: Point,
    contenders: &[Contender],
    measure: Measure<'_>,
) -> Result<Vec<Comparison>, String> {
    let mut default = measure(point, &Contender::default())?;
    let mut all = Vec::new();
    for contender in contenders {
        let own = measure(point, contender)?;
        all.push(Comparison { point, name: contender.name.clone(), rounds: 1, own, default: default.clone() });
    }
    let mut round = 1;
    // Where the default seems to lose, what is least may still become less.
    while round < grid.rounds || round < DOUBTED * grid.rounds && all.iter().any(Comparison::is_lost) {
        round += 1;
        default.improve(measure(point, &Contender::default())?);
        for (contender, known) in contenders.iter().zip(&mut all) {
            if round <= grid.rounds || known.is_lost() {
                known.own.improve(measure(point, contender)?);
                known.rounds = round;
            }
        }
        for known in &mut all {
            known.default = default.clone();
        }
    }
    Ok(all)
}

fn points(grid: &Grid) -> Vec<Point> {
    let Grid { machines, threads, locations, operations, perturbed, seed, .. } = grid;
    let mut asked: Vec<(Model, Model)> = machines.iter().map(|&machine| (machine, machine)).collect();
    for heuristic in HEURISTICS.iter().filter(|it| grid.heuristics.iter().any(|name| name == it.name)) {
        let here = heuristic.models().iter().filter(|(machine, _)| machines.contains(machine));
        asked.extend(here);
    }
    let mut points = if grid.objects { points::objects(*seed) } else { Vec::new() };
    if grid.beside {
        points.extend(points::beside(*seed));
    }
    for (at, &(machine, model)) in asked.iter().enumerate() {
        if asked[..at].contains(&(machine, model)) {
            continue;
        }
        for (&operations, &threads) in operations.iter().flat_map(|it| threads.iter().map(move |of| (it, of))) {
            for (&locations, &perturbed) in locations.iter().flat_map(|it| perturbed.iter().map(move |of| (it, of))) {
                points.push(Point::Memory(MemoryPoint {
                    machine,
                    model,
                    threads,
                    locations,
                    operations,
                    perturbed,
                    seed: *seed,
                    copies: 1,
                }));
            }
        }
    }
    points
}

/// One sample of a contender, in a process of its own.
fn measure(grid: &Grid, command: &Path, point: Point, contender: &Contender) -> Result<Sample, String> {
    let out = Command::new(command)
        .args(["sample", &point.text(), "--limit", &grid.limit.as_secs_f64().to_string()])
        .args(&contender.flags)
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&out.stdout);
    let fields: Vec<&str> = text.split_whitespace().collect();
    let &[milliseconds, megabytes, verdict, tactic] = fields.as_slice() else {
        return Err(format!("{}: {}", point.shown(), String::from_utf8_lossy(&out.stderr)));
    };
    let number = |text: &str| text.parse::<f64>().map_err(|error| error.to_string());
    Ok(Sample {
        milliseconds: number(milliseconds)?,
        megabytes: number(megabytes)?,
        verdict: verdict.to_owned(),
        tactic: tactic.to_owned(),
    })
}

/// For each heuristic, where the default wins most and where it loses most, and what the rule says. Then what went.
fn table(done: &[Comparison]) -> String {
    let known = |name: &str| done.iter().any(|it| it.name == name);
    let mut text = "| the default against | points | wins most | loses most | by the rule |\n".to_owned();
    text.push_str("| --- | --- | --- | --- | --- |\n");
    let mut settings: Vec<&str> = done.iter().map(|it| it.name.as_str()).filter(|name| name.contains('=')).collect();
    settings.sort_unstable();
    settings.dedup();
    let mut all: Vec<&str> = std::iter::once(PLAIN).chain(names()).filter(|name| known(name)).collect();
    all.append(&mut settings);
    for name in all {
        let own = || done.iter().filter(|it| it.name == name);
        let both =
            || own().flat_map(|it| WHAT.into_iter().zip(it.ratios()).map(move |(what, by)| (what, by, it.point)));
        let best = both().max_by(|a, b| a.1.total_cmp(&b.1));
        let worst = both().min_by(|a, b| a.1.total_cmp(&b.1));
        let (Some((what, won, at)), Some((which, lost, there))) = (best, worst) else { continue };
        let points = own().count();
        let losses = own().filter(|it| it.is_lost()).count();
        let rule = match (name, won >= WINS, losses > 0) {
            (PLAIN, _, false) => "holds".to_owned(),
            (PLAIN, _, true) => format!("does not hold at {losses}"),
            (_, _, true) if name.contains('=') => format!("better at {losses}"),
            (_, _, false) if name.contains('=') => "not better".to_owned(),
            (_, true, false) => "stays".to_owned(),
            (_, _, true) => format!("loses at {losses}: goes, or its guard is made right"),
            (_, false, false) => "goes: it wins nowhere".to_owned(),
        };
        let shown = match name {
            PLAIN => "plain saturation and search".to_owned(),
            _ if name.contains('=') => name.to_owned(),
            _ => format!("no {name}"),
        };
        let _ = writeln!(
            text,
            "| {shown} | {points} | {won:.1} times the {what}: {} | {:.2} times the {which}: {} | {rule} |",
            at.shown(),
            1.0 / lost,
            there.shown(),
        );
    }
    for (name, why) in GONE {
        let _ = writeln!(text, "| {name} | | | {why} | went |");
    }
    text
}

/// Puts a table between the marks of the trial on a page.
pub fn put(page: &Path, table: &str) -> Result<(), String> {
    let told = |why: &dyn std::fmt::Display| format!("{}: {why}", page.display());
    let text = fs::read_to_string(page).map_err(|error| told(&error))?;
    let [begin, end] = ["<!-- trial -->\n", "<!-- end of trial -->"];
    let parts = text.split_once(begin).and_then(|(head, rest)| Some((head, rest.split_once(end)?.1)));
    let (head, tail) = parts.ok_or_else(|| told(&format!("there is no place between {begin:?} and {end:?}")))?;
    fs::write(page, format!("{head}{begin}\n{table}\n{end}{tail}")).map_err(|error| told(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a contender costs where the default takes 100 ms and 100 MB.
    fn comparison(name: &str, milliseconds: f64, megabytes: f64) -> Comparison {
        let point = Point::parse("sc/sc/2/8/100/0/1").expect("a point");
        let sample = |milliseconds, megabytes| Sample {
            milliseconds,
            megabytes,
            verdict: "consistent".to_owned(),
            tactic: "run".to_owned(),
        };
        let (own, default) = (sample(milliseconds, megabytes), sample(100.0, 100.0));
        Comparison { point, name: name.to_owned(), rounds: 3, own, default }
    }

    /// What the rule says of those that were measured.
    fn rules(table: &str) -> impl Iterator<Item = &str> {
        table.lines().skip(2).filter_map(|line| line.rsplit(" | ").next()).filter(|&rule| rule != "went |")
    }

    #[test]
    fn the_rule() {
        let text = table(&[
            comparison(PLAIN, 300.0, 100.0),
            comparison("run", 160.0, 95.0),
            comparison("rest of a run", 120.0, 100.0),
            comparison("ages by lags", 900.0, 80.0),
        ]);
        let rules: Vec<&str> = rules(&text).collect();
        let loses = "loses at 1: goes, or its guard is made right |";
        assert_eq!(rules, ["holds |", "stays |", "goes: it wins nowhere |", loses]);
    }

    #[test]
    fn a_line_of_the_file_is_read_as_it_is_written() {
        let line = comparison("run", 160.0, 95.0).text();
        let read = parse(&format!("{}\n# by whom\n{line}\n", Comparison::HEAD)).expect("a trial");
        assert_eq!(read.iter().map(Comparison::text).collect::<Vec<_>>(), [line]);
        assert!(parse("sc/sc/2/8,run").is_err());
    }

    /// Without one heuristic, each decision takes twice as long; with one round, each contender is measured once.
    #[test]
    fn a_trial_goes_on_where_it_stopped() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("trial.csv");
        let grid = Grid {
            objects: false,
            beside: false,
            machines: vec![Model::Sc, Model::Tso, Model::Pso],
            threads: vec![2],
            locations: vec![2, 3],
            operations: vec![50],
            perturbed: vec![0],
            heuristics: vec!["run".to_owned()],
            knobs: vec!["store.hints=1".to_owned()],
            rounds: 1,
            limit: Duration::from_secs(1),
            seed: 1,
        };
        let mut left = 9;
        let mut measured = |_: Point, contender: &Contender| {
            left -= 1;
            if left < 0 {
                return Err("stopped".to_owned());
            }
            let it = comparison("", if contender.name == "run" { 200.0 } else { 100.0 }, 100.0);
            Ok(it.own)
        };
        assert_eq!(resume(&grid, &path, "first", &mut measured), Err("stopped".to_owned()));
        // Two points were measured, each with three contenders and the default. Of six, four are left.
        left = 100;
        let mut measured = |_: Point, contender: &Contender| {
            left -= 1;
            let it = comparison("", if contender.name == "run" { 200.0 } else { 100.0 }, 100.0);
            Ok(it.own)
        };
        let table = resume(&grid, &path, "second", &mut measured).expect("a table");
        assert_eq!(left, 100 - 4 * 4);
        assert_eq!(rules(&table).collect::<Vec<_>>(), ["holds |", "stays |", "not better |"]);
        let text = fs::read_to_string(&path).expect("a file");
        assert_eq!(parse(&text).expect("lines").len(), 6 * 3);
        assert!(text.contains("# first\n") && text.contains("# second\n"));
    }

    #[test]
    fn verdicts_must_agree() {
        let mut it = comparison("run", 1.0, 1.0);
        assert!(it.agrees().is_ok());
        it.own.verdict = "violation".to_owned();
        assert!(it.agrees().is_err());
        it.default.verdict = "unknown".to_owned();
        assert!(it.agrees().is_ok());
    }

    #[test]
    fn a_table_is_put_between_its_marks() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), "a\n<!-- trial -->\nold\n<!-- end of trial -->\nb\n").expect("it is written");
        put(file.path(), "new\n").expect("there are marks");
        let text = fs::read_to_string(file.path()).expect("it is read");
        assert_eq!(text, "a\n<!-- trial -->\n\nnew\n\n<!-- end of trial -->\nb\n");
        fs::write(file.path(), "a\n").expect("it is written");
        assert!(put(file.path(), "new\n").is_err());
    }
}
