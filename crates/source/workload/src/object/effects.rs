//! What a call does to its object when it takes effect, and what goes wrong then.

use history::{Method, Object};

use super::shown::Stage;
use super::{Answer, Fault, ObjectCell, ObjectRun, OpenCall, PlainAnswer, plain_start, plain_step};

impl ObjectRun {
    /// Whether a fault happens now.
    fn goes_wrong(&mut self) -> bool {
        match self.stage {
            Stage::Free => self.fault_at.pop_if(|at| *at <= self.called).is_some(),
            Stage::Before | Stage::Closing => false,
            Stage::Alone { goes_wrong, .. } => goes_wrong,
        }
    }

    /// The call of a thread takes effect, if it can.
    pub(super) fn take_effect(&mut self, thread: usize) -> bool {
        let Some(open) = self.threads[thread].open.clone() else { return false };
        let cell = open.key as usize;
        let answer = match open.method {
            _ if plain_start(self.config.object).is_some() => {
                let Some(answer) = self.plain(cell, &open) else { return false };
                answer
            }
            Method::Enqueue | Method::Push => {
                self.cells[cell].items.push_back(open.argument);
                Answer::Nothing
            }
            Method::Insert => {
                self.stamp += 1;
                self.cells[cell].sorted.insert((open.argument, self.stamp));
                Answer::Nothing
            }
            Method::Dequeue | Method::Pop | Method::DeleteMax => self.remove(cell, open.method),
            Method::Peek => self.peek(cell),
            Method::Write => {
                let is_lost = self.config.fault == Some(Fault::Lost) && self.goes_wrong();
                self.write(cell, if is_lost { None } else { Some(open.argument) });
                Answer::Nothing
            }
            Method::Read => self.read(cell),
            Method::Cas => {
                let succeeds = self.cells[cell].items.back().copied().unwrap_or(0) == open.expected;
                if succeeds {
                    self.write(cell, Some(open.argument));
                }
                Answer::Boolean(succeeds)
            }
            Method::Add | Method::Remove | Method::Contains | Method::Count
                if self.config.object == Object::Multiset =>
            {
                self.touch_copies(cell, &open)
            }
            Method::Add | Method::Remove | Method::Contains => self.touch(cell, &open),
            Method::Lock | Method::Acquire => {
                let capacity = if open.method == Method::Lock { 1 } else { i64::from(self.config.capacity) };
                if self.cells[cell].held >= capacity && !(self.config.fault.is_some() && self.goes_wrong()) {
                    return false;
                }
                self.cells[cell].held += 1;
                self.threads[thread].held = Some((open.key, open.argument));
                Answer::Nothing
            }
            Method::TryLock => {
                let wrong = self.config.fault.is_some() && self.goes_wrong();
                let succeeds = (self.cells[cell].held == 0) != wrong;
                if succeeds {
                    self.cells[cell].held += 1;
                    self.threads[thread].held = Some((open.key, open.argument));
                }
                Answer::Boolean(succeeds)
            }
            Method::Unlock | Method::Release => {
                if self.cells[cell].held <= 0 {
                    return false;
                }
                self.cells[cell].held -= 1;
                self.threads[thread].held = None;
                Answer::Nothing
            }
            Method::AcquireAs => {
                let capacity = if self.config.object == Object::TaggedMutex { 1 } else { self.config.capacity };
                let is_full = self.cells[cell].items.len() >= capacity as usize;
                if is_full && !(self.config.fault.is_some() && self.goes_wrong()) {
                    return false;
                }
                self.cells[cell].items.push_back(open.argument);
                self.threads[thread].held = Some((open.key, open.argument));
                Answer::Nothing
            }
            Method::ReleaseAs => {
                let items = &mut self.cells[cell].items;
                let Some(at) = items.iter().position(|&tag| tag == open.argument) else { return false };
                items.remove(at);
                self.threads[thread].held = None;
                Answer::Nothing
            }
            Method::Exchange => return self.exchange(thread, &open),
            Method::Put => {
                self.cells[cell].text = format!("{};", open.argument);
                Answer::Nothing
            }
            Method::Append => {
                if !(self.config.fault == Some(Fault::Lost) && self.goes_wrong()) {
                    let text = &mut self.cells[cell].text;
                    text.push_str(&open.argument.to_string());
                    text.push(';');
                }
                Answer::Nothing
            }
            _ => {
                let is_empty = self.config.fault.is_some_and(|fault| fault != Fault::Lost) && self.goes_wrong();
                Answer::Text(if is_empty { String::new() } else { self.cells[cell].text.clone() })
            }
        };
        if let Some(open) = &mut self.threads[thread].open {
            open.answer = Some(answer);
        }
        true
    }

    /// A call of a plain object. A change can be lost, and an observation can be wrong.
    fn plain(&mut self, cell: usize, open: &OpenCall) -> Option<Answer> {
        let is_lost = self.config.fault == Some(Fault::Lost);
        let may_go_wrong = self.config.fault.is_some() && open.method.observes() != is_lost;
        let goes_wrong = may_go_wrong && self.goes_wrong();
        let mut number = self.cells[cell].number;
        let answer = plain_step(self.config.object, open.method, &mut number, i128::from(open.argument))?;
        if !(goes_wrong && is_lost) {
            self.cells[cell].number = number;
        }
        let is_wrong = goes_wrong && !is_lost;
        Some(match answer {
            PlainAnswer::Nothing => Answer::Nothing,
            PlainAnswer::Boolean(said) => Answer::Boolean(said != is_wrong),
            PlainAnswer::Number(number) => Answer::Value((number + i128::from(is_wrong)) as u32),
        })
    }

    /// The last few values of a register are kept, the current one at the back.
    fn write(&mut self, cell: usize, value: Option<u32>) {
        let items = &mut self.cells[cell].items;
        items.extend(value);
        while items.len() > 16 {
            items.pop_front();
        }
    }

    fn read(&mut self, cell: usize) -> Answer {
        let stale = match self.config.fault {
            Some(Fault::OutOfOrder(k)) => u64::from(k.max(1)),
            Some(Fault::Duplicated | Fault::LateEmpty) => 4,
            _ => 0,
        };
        let items = &self.cells[cell].items;
        let held = items.len() as u64;
        let back =
            if stale > 0 && held > 1 && self.goes_wrong() { 1 + self.random.below(stale.min(held - 1)) } else { 0 };
        let items = &self.cells[cell].items;
        let current = items.back().copied().unwrap_or(0);
        let Some(at) = (held - back).checked_sub(1) else { return Answer::Value(0) };
        let value = items[at as usize];
        // A stale value shows nothing if it equals the current one. The initial value has no write.
        if back > 0 && value == current {
            return Answer::Value(items.iter().rev().copied().find(|&old| old != current).unwrap_or(0));
        }
        Answer::Value(value)
    }

    fn remove(&mut self, cell: usize, method: Method) -> Answer {
        let length = self.cells[cell].items.len().max(self.cells[cell].sorted.len());
        let fault = self.config.fault.filter(|fault| match fault {
            Fault::Duplicated | Fault::LateEmpty => length > 0,
            Fault::OutOfOrder(_) | Fault::Lost => length > 1,
        });
        let fault = fault.filter(|_| self.goes_wrong());
        if length == 0 || fault == Some(Fault::LateEmpty) {
            return Answer::Empty;
        }
        // How far the value that is taken stands behind the right one.
        let off = match fault {
            Some(Fault::OutOfOrder(k)) => {
                1 + self.random.below(u64::from(k.max(2) - 1).min(length as u64 - 1)) as usize
            }
            Some(Fault::Lost) => 1,
            _ => 0,
        };
        let cell = &mut self.cells[cell];
        let mut value = 0;
        for at in 0..2 {
            let position = if at == 0 { off } else { 0 };
            let taken = match method {
                Method::Dequeue => cell.items.remove(position),
                Method::Pop => cell.items.remove(length - 1 - off),
                _ => {
                    let taken = cell.sorted.iter().rev().nth(position).copied();
                    if let Some(taken) = taken {
                        cell.sorted.remove(&taken);
                    }
                    taken.map(|(value, _)| value)
                }
            };
            if at == 0 {
                value = taken.unwrap_or(0);
            }
            if fault != Some(Fault::Lost) {
                break;
            }
            if method == Method::Pop {
                // The value on top is lost.
                cell.items.pop_back();
                break;
            }
        }
        if fault == Some(Fault::Duplicated) {
            match method {
                Method::Dequeue => cell.items.push_front(value),
                Method::Pop => cell.items.push_back(value),
                _ => {
                    self.stamp += 1;
                    cell.sorted.insert((value, self.stamp));
                }
            }
        }
        Answer::Value(value)
    }

    fn peek(&mut self, cell: usize) -> Answer {
        let length = self.cells[cell].items.len().max(self.cells[cell].sorted.len());
        let fault = self.config.fault.filter(|fault| match fault {
            Fault::OutOfOrder(_) => length > 1,
            Fault::LateEmpty => length > 0,
            Fault::Lost | Fault::Duplicated => false,
        });
        let off = match fault.filter(|_| self.goes_wrong()) {
            Some(Fault::OutOfOrder(k)) => {
                1 + self.random.below(u64::from(k.max(2) - 1).min(length as u64 - 1)) as usize
            }
            Some(_) => length,
            None => 0,
        };
        let ObjectCell { items, sorted, .. } = &self.cells[cell];
        let value = match self.config.object {
            Object::Queue => items.get(off).copied(),
            Object::Stack => items.iter().nth_back(off).copied(),
            _ => sorted.iter().nth_back(off).map(|&(value, _)| value),
        };
        value.map_or(Answer::Empty, Answer::Value)
    }

    fn touch(&mut self, cell: usize, open: &OpenCall) -> Answer {
        let element = (open.argument, 0);
        let elements = &self.cells[cell].sorted;
        let is_in = elements.contains(&element);
        let goes_wrong = self.config.fault.is_some() && self.goes_wrong();
        let elements = &mut self.cells[cell].sorted;
        match open.method {
            Method::Add => elements.insert(element),
            Method::Remove => elements.remove(&element),
            _ => false,
        };
        Answer::Boolean((if open.method == Method::Add { !is_in } else { is_in }) != goes_wrong)
    }

    fn touch_copies(&mut self, cell: usize, open: &OpenCall) -> Answer {
        let goes_wrong = self.config.fault.is_some() && self.goes_wrong();
        self.stamp += 1;
        let elements = &mut self.cells[cell].sorted;
        let first = elements.range((open.argument, 0)..=(open.argument, u32::MAX)).next().copied();
        let copies = elements.range((open.argument, 0)..=(open.argument, u32::MAX)).count() as u32;
        match (open.method, first) {
            (Method::Add, _) => elements.insert((open.argument, self.stamp)),
            (Method::Remove, Some(first)) => elements.remove(&first),
            _ => false,
        };
        match open.method {
            Method::Count => Answer::Value(copies + u32::from(goes_wrong)),
            Method::Add => Answer::Boolean(true),
            _ => Answer::Boolean((copies > 0) != goes_wrong),
        }
    }

    /// Two waiting exchanges meet, or one exchange stops waiting.
    fn exchange(&mut self, thread: usize, open: &OpenCall) -> bool {
        let offer = open.argument;
        let waiting = |other: &usize| {
            let waits = |other: &OpenCall| other.answer.is_none() && other.key == open.key;
            *other != thread && self.threads[*other].open.as_ref().is_some_and(waits)
        };
        let others: Vec<usize> = (0..self.threads.len()).filter(waiting).collect();
        let mut mine = Answer::Null;
        if !others.is_empty() && self.random.percent(80) {
            let other = self.random.pick(&others);
            let goes_wrong = self.config.fault.is_some() && self.goes_wrong();
            if let Some(partner) = &mut self.threads[other].open {
                mine = Answer::Value(if goes_wrong { offer } else { partner.argument });
                partner.answer = Some(Answer::Value(offer));
            }
        } else if matches!(self.stage, Stage::Alone { goes_wrong: true, .. }) {
            mine = Answer::Value(offer);
        }
        if let Some(open) = &mut self.threads[thread].open {
            open.answer = Some(mine);
        }
        true
    }
}
