//! The integer types of litmus tests in C: what is stored, computed and compared wraps around as their widths say.

use explore::litmus::{Limits, Report, Test};
use explore::{Model, RandomStrategy};

fn explored(text: &str) -> Report {
    let test = Test::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    test.explore(Model::C20, Limits::default()).unwrap()
}

/// The names of a type, as an atomic and not, and what a number is in it.
struct Type {
    names: &'static [&'static str],
    wrap: fn(i128) -> i128,
}

macro_rules! types {
    ($($type:ty: $($name:literal)*;)*) => {
        [$(Type { names: &[$($name),*], wrap: |value| i128::from(value as $type) }),*]
    };
}

fn types() -> Vec<Type> {
    types! {
        i8: "char" "signed char" "atomic_char" "atomic_schar" "int8_t" "_Atomic(int8_t)" "atomic_int_least8_t"
            "int_fast8_t" "_Atomic signed char";
        u8: "unsigned char" "atomic_uchar" "uint8_t" "_Atomic(uint8_t)" "_Atomic unsigned char" "atomic_uint_least8_t";
        i16: "short" "short int" "signed short int" "atomic_short" "int16_t" "volatile short";
        u16: "unsigned short" "unsigned short int" "atomic_ushort" "uint16_t" "atomic_char16_t";
        i32: "int" "signed" "signed int" "atomic_int" "int32_t" "_Atomic(int)" "volatile atomic_int" "atomic_wchar_t";
        u32: "unsigned" "unsigned int" "uint" "atomic_uint" "uint32_t" "atomic_char32_t";
        i64: "long" "long int" "long long" "atomic_long" "atomic_llong" "int64_t" "intptr_t" "ptrdiff_t"
            "atomic_intmax_t" "atomic_int_fast32_t" "long long int" "signed long";
        u64: "unsigned long" "unsigned long long" "atomic_ulong" "atomic_ullong" "uint64_t" "size_t" "atomic_size_t"
            "uintptr_t" "atomic_uint_fast16_t" "unsigned long int";
    }
    .into()
}

/// All names of all types, at the edges of their ranges: what Rust's types of the same widths say.
#[test]
fn every_type_wraps() {
    let mut tried = 0;
    for Type { names, wrap } in types() {
        let edges = [-1, 0, 1, 127, 128, 255, 256, 32767, 65535, 0x7fff_ffff, 0xffff_ffff, i128::from(i64::MAX)];
        for &name in names {
            for (at, &first) in edges.iter().enumerate() {
                for (operation, result) in [
                    ("atomic_fetch_add(x, 1)", wrap(first) + 1),
                    ("atomic_fetch_sub(x, 1)", wrap(first) - 1),
                    ("atomic_fetch_add(x, 200)", wrap(first) + 200),
                    ("atomic_fetch_or(x, 384)", wrap(first) | 0x180),
                    ("atomic_fetch_and(x, 0xf0)", wrap(first) & 0xf0),
                    ("atomic_fetch_xor(x, -1)", wrap(first) ^ -1),
                    ("atomic_exchange(x, 300)", 300),
                    ("atomic_store(x, -129)", -129),
                    ("(*x)++", wrap(first) + 1),
                    ("*x -= 2", wrap(first) - 2),
                ] {
                    // Every operation with some of the values, and each value with some of the operations.
                    tried += 1;
                    if tried % 3 != at % 3 {
                        continue;
                    }
                    let text = format!(
                        "C t\n{{ {name} x = {first}; }}\nP0 ({name}* x) {{ {operation}; }}\nforall (x={})",
                        wrap(result)
                    );
                    assert!(explored(&text).is_ok(), "{text}\n{:?}", explored(&text));
                    // The same if only the thread says the type.
                    let text = text.replacen(&format!("{name} x ="), "[x] =", 1);
                    assert!(explored(&text).is_ok(), "{text}\n{:?}", explored(&text));
                }
            }
        }
    }
}

/// The example of the issue, and what C says of expressions: small types are promoted, and of two the wider wins, or
/// the one without a sign.
#[test]
fn expressions_have_types() {
    for (code, condition) in [
        ("atomic_fetch_add(c, 1);", "c=0"),
        ("int r = atomic_fetch_add(c, 1) + 1;", r"0:r=256 /\ c=0"),
        ("unsigned char r = 255; r++; int s = r;", r"0:r=0 /\ 0:s=0"),
        ("unsigned char r = 255; int s = r + 1;", "0:s=256"),
        ("char r = 200; int s = r;", r"0:r=-56 /\ 0:s=-56"),
        ("short r = 40000; unsigned short s = r; r -= 30000;", r"0:r=10000 /\ 0:s=40000"),
        ("int r = -1 < 1u; int s = -1 < 1; int t = -1L < 1u;", r"0:r=0 /\ 0:s=1 /\ 0:t=1"),
        ("unsigned r = 0; r = r - 1; int s = r > 0; long t = r;", r"0:r=4294967295 /\ 0:s=1 /\ 0:t=4294967295"),
        ("int r = 2147483647; r++;", "0:r=-2147483648"),
        ("int r = (unsigned char) 511; int s = (signed char) 255; int t = (_Bool) 256;", r"0:r=255 /\ 0:s=-1 /\ 0:t=1"),
        (
            "unsigned long r = -1; int s = r / 2 == 0x7fffffffffffffff; int t = r > 1; int u = r % 10;",
            r"0:r=18446744073709551615 /\ 0:s=1 /\ 0:t=1 /\ 0:u=5",
        ),
        ("unsigned long r = -1; int s = r >> 63; long t = -1; int u = t >> 63;", r"0:s=1 /\ 0:u=-1"),
        ("unsigned r = 0x80000000; int s = r >> 31; int t = -2147483648; int u = t >> 31;", r"0:s=1 /\ 0:u=-1"),
        (
            "unsigned r = 1 ? -1 : 1u; long s = 0 ? 1u : -1; long t = 0 ? 1 : -1;",
            r"0:r=4294967295 /\ 0:s=4294967295 /\ 0:t=-1",
        ),
        ("long r = ~0u; long s = ~0; long t = -1u;", r"0:r=4294967295 /\ 0:s=-1 /\ 0:t=4294967295"),
        ("bool r = 4; r += 4; int s = r;", r"0:r=1 /\ 0:s=1"),
        ("int e = 256; int ok = atomic_compare_exchange_strong(z, &e, 257);", r"0:ok=1 /\ z=1"),
        ("int e = 5; int ok = atomic_compare_exchange_strong(c, &e, 1);", r"0:ok=0 /\ 0:e=255 /\ c=255"),
    ] {
        let text = format!(
            "C t\n{{ atomic_uchar c = 255; atomic_uchar z = 0; }}\n\
             P0 (atomic_uchar* c, atomic_uchar* z) {{ {code} }}\nforall ({condition})"
        );
        let report = explored(&text);
        assert!(report.is_ok() && report.counts.executions == 1, "{text}\n{report:?}");
    }
}

/// A value that a loop waits for is compared as C does it, and the loop is still one event.
#[test]
fn loops_wait_for_values_of_their_type() {
    for (name, stored, awaited) in [
        ("atomic_uchar", "256", "atomic_load(x) != 0"),
        ("atomic_uchar", "-1", "atomic_load(x) != 255"),
        ("atomic_uint", "-1", "atomic_load(x) != -1"),
        ("atomic_char", "200", "atomic_load(x) >= 0"),
        ("atomic_ulong", "-1", "atomic_load(x) != -1"),
    ] {
        let text = format!(
            "C t\n{{ {name} x = 7; }}\nP0 ({name}* x) {{ while ({awaited}) {{}} int r = 1; }}\n\
             P1 ({name}* x) {{ atomic_store(x, {stored}); }}\nforall (0:r=1)"
        );
        let report = explored(&text);
        assert!(report.is_ok() && report.is_complete && report.counts.executions == 1, "{text}\n{report:?}");
    }
}

/// Random runs and all elements of an array, too; and what a location is in one thread it is in all.
#[test]
fn arrays_runs_and_mistakes() {
    let text =
        "C t\n{ uint8_t a[3] = {255, 256, 257}; }\nP0 (uint8_t* a) { int r = a[0]; a[1] += 255; a[2]--; a[2]--; }
                forall (0:r=255 /\\ a[0]=255 /\\ a[1]=255 /\\ a[2]=255)";
    assert!(explored(text).is_ok());
    let test = Test::parse(text.as_bytes()).unwrap();
    assert!(test.sample(Model::C20, Limits::default(), RandomStrategy::Uniform, 0..5).unwrap().is_ok());

    let twice = "C t\n{}\nP0 (atomic_int* x) { }\nP1 (atomic_uchar* x) { }\n";
    let error = Test::parse(twice.as_bytes()).unwrap_err();
    assert_eq!((error.line, error.column), (4, 19));
    assert!(error.message.contains("another type"), "{error:?}");
    let unsigned = "C t\n{ atomic_ulong x = 0; }\nP0 (atomic_ulong* x) { atomic_fetch_sub(x, 1); }\nforall (x=0)";
    let test = Test::parse(unsigned.as_bytes()).unwrap();
    let report = test.explore(Model::C20, Limits::default()).unwrap();
    assert_eq!(test.title(&report.outcomes[0].state), "[x]=18446744073709551615;");
}
