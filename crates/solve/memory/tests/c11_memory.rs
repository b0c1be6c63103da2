//! A checker that is used again allocates nothing, for executions built into the same memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use history::execution::{Execution, ExecutionBuilder};
use memory::c11::C11Checker;
use model::Model;
use workload::memory::{MemoryConfig, MemoryMachine, generate};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code)]
// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn build(steps: &[workload::memory::MemoryStep], builder: &mut ExecutionBuilder, execution: &mut Execution) {
    builder.clear();
    let mut writes = [0; 512];
    for step in steps {
        let event = builder.push_ordered(step.thread, step.kind, step.location, step.order);
        if step.kind.reads() {
            builder.read_from(event, step.read.checked_sub(1).map(|value| writes[value as usize]));
        }
        if step.kind.writes() {
            writes[step.written as usize - 1] = event;
        }
    }
    builder.build_into(execution);
}

// One test: others in this process would be counted too.
#[test]
fn after_warming_up_no_check_allocates() {
    for (machine, rmws, models) in [
        (MemoryMachine::ReleaseAcquire, 20, &[Model::Ra, Model::Rc20, Model::Relaxed, Model::Wra][..]),
        (MemoryMachine::Rc20, 20, &[Model::Ra, Model::Rc20, Model::Relaxed, Model::Wra]),
        (MemoryMachine::ReleaseAcquire, 0, &[Model::Sra]),
    ] {
        let [small, large] = [40, 300].map(|operations| MemoryConfig {
            machine,
            writes: 40,
            rmws,
            threads: 4,
            operations,
            locations: 3,
            fences: 5,
            ..MemoryConfig::default()
        });
        let runs: Vec<Vec<_>> = (0..200)
            .map(|seed| {
                let config = if seed % 10 == 9 { large } else { small };
                generate(&MemoryConfig { seed, perturb: seed as u32 % 3, ..config }).collect()
            })
            .collect();
        let (mut builder, mut execution, mut checker) = <(ExecutionBuilder, Execution, C11Checker)>::default();
        let mut check_all = |verdicts: &mut [usize; 2]| {
            for steps in &runs {
                build(steps, &mut builder, &mut execution);
                for &model in models {
                    verdicts[usize::from(checker.allows(model, &execution) == Ok(true))] += 1;
                }
            }
        };
        let mut first = [0; 2];
        check_all(&mut first);
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        let mut second = [0; 2];
        check_all(&mut second);
        assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before);
        assert_eq!(first, second);
        assert!(first[0] > 20 && first[1] > 20, "{first:?}");
    }
}
