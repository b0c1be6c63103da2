//! Data that the orders of a program must protect.

use super::shim::cell::UnsafeCell;

pub struct Data(UnsafeCell<usize>);

unsafe impl Sync for Data {}
unsafe impl Send for Data {}

impl Data {
    pub fn new(value: usize) -> Self {
        Self(UnsafeCell::new(value))
    }

    pub fn read(&self) -> usize {
        self.0.with(|value| unsafe { *value })
    }

    pub fn write(&self, new: usize) {
        self.0.with_mut(|value| unsafe { *value = new });
    }
}
