//! Exchanger: MATCH1, INJECTIVE, SYMMETRIC, EXCHANGE, MATCHOVERLAP.
//!
//! Each two exchanges that overlap have a literal, which says that they are partners. There is no order.

use crate::refinement::Invocation;
use batsat::Lit;
use object::ValueId;

use super::Theory;
use super::formula::Formula;

#[derive(Clone)]
struct Exchange {
    argument: ValueId,
    result: ValueId,
    partners: Vec<(u32, Lit)>,
}

#[derive(Default)]
pub(super) struct Exchanger {
    exchanges: Vec<Exchange>,
}

impl Exchanger {
    /// The partners in the last model.
    pub(super) fn pairs(&self, formula: &Formula) -> Vec<[u32; 2]> {
        let mut pairs = Vec::new();
        for (x, exchange) in self.exchanges.iter().enumerate() {
            let wants = |&y: &u32| exchange.result.is_index() || self.exchanges[y as usize].result.is_index();
            let partner = exchange.partners.iter().find(|&&(_, literal)| formula.holds(literal));
            pairs.extend(partner.map(|&(y, _)| y).filter(|&y| (x as u32) < y).filter(wants).map(|y| [x as u32, y]));
        }
        pairs
    }
}

impl Theory for Exchanger {
    fn call(&mut self, formula: &mut Formula, number: u32, invocation: Invocation, _: Option<ValueId>) {
        let argument = invocation.argument;
        self.exchanges.push(Exchange { argument, result: ValueId::NONE, partners: Vec::new() });
        for other in formula.open().to_vec().into_iter().filter(|&other| other != number) {
            let literal = formula.variable();
            for (x, y) in [(number, other), (other, number)] {
                for &(_, rival) in &self.exchanges[x as usize].partners {
                    formula.not_all(&[literal, rival]);
                }
                self.exchanges[x as usize].partners.push((y, literal));
            }
        }
    }

    fn return_(&mut self, formula: &mut Formula, number: u32, result: ValueId) -> Result<(), &'static str> {
        let exchange = &mut self.exchanges[number as usize];
        exchange.result = result;
        if result == ValueId::NONE {
            return Ok(());
        }
        let argument = exchange.argument;
        let mut clause = Vec::new();
        for (y, literal) in exchange.partners.clone() {
            let partner = &self.exchanges[y as usize];
            let is_free = partner.result == ValueId::NONE;
            if partner.argument == result && (is_free || partner.result == argument) {
                clause.push(literal);
            } else {
                formula.clause(&[!literal]);
            }
        }
        if result != ValueId::NULL {
            formula.clause(&clause);
        }
        Ok(())
    }

    fn pending_effects(&self, _: &Formula) -> Vec<(u32, ValueId)> {
        Vec::new()
    }
}
