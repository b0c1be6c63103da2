//! The C11 engine inside a model checker: executions are built event by event, and no file is involved.
//!
//! [`Incremental`] says at each event whether the execution is still allowed, and from which writes a read may read. A
//! model checker asks this at every load. [`memory::c11::C11Checker`] decides whole executions, and reuses its buffers.

use std::error::Error;

use seriatim::Model;
use seriatim::history::execution::Kind::{Read, Write};
use seriatim::history::{ExecutionBuilder, MemoryOrder};
use seriatim::memory::c11::{C11Checker, Incremental};

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    // Thread 0 writes the data and raises the flag. Thread 1 sees the flag. May it still read the old data?
    let (data, flag) = (0, 1);
    let plain = MemoryOrder::Plain;
    let mut execution = Incremental::ra();
    let new_data = execution.push(0, Write, data, plain, None)?;
    let raised = execution.push(0, Write, flag, plain, None)?;
    execution.push(1, Read, flag, plain, raised)?;
    // A source of `None` would be the initial write.
    let sources: Vec<_> = execution.may_read_from(1, Read, data, plain).collect();
    assert_eq!(sources, [new_data]);

    // The same events as one execution. It is allowed if nothing synchronises, and forbidden under release-acquire.
    let mut builder = ExecutionBuilder::new();
    builder.push(0, Write, data);
    let raised = builder.push(0, Write, flag);
    let sees_flag = builder.push(1, Read, flag);
    let sees_data = builder.push(1, Read, data);
    builder.read_from(sees_flag, Some(raised));
    builder.read_from(sees_data, None);
    let mut checker = C11Checker::new();
    for model in [Model::Relaxed, Model::Ra] {
        println!("{model}: {}", checker.allows(model, &builder.build())?);
    }
    assert!(checker.allows(Model::Relaxed, &builder.build())?);
    assert!(!checker.allows(Model::Ra, &builder.build())?);
    Ok(())
}
