//! Cycles: found before a link is made, and relaxed
//! (drivers/base/core.c:__fw_devlink_relax_cycles, the same in 6.1, 6.12 and 7.3 but
//! for when the line is printed).

use super::machine::{Machine, Status};
use super::version::Rules;

/// A search for the ways from a supplier back to its consumer.
struct Search {
    consumer: usize,
    /// Depth of the visited nodes that cut a way off: the smallest.
    cut: u32,
    /// Its number: answers of other searches do not count.
    number: u32,
}

impl Machine<'_, '_> {
    /// Whether the supplier of a link depends on its consumer; what lies on the way
    /// is marked. The link is marked as well.
    pub(crate) fn relax(&mut self, l: usize, supplier: usize) {
        let consumer = self.node_links[l].consumer;
        self.work.begin();
        self.searches += 1;
        let mut search = Search { consumer, cut: u32::MAX, number: self.searches };
        if self.leads_back(&mut search, supplier, 0) {
            self.mark(l);
            if self.rules < Rules::K7_3 {
                self.cycles.push((consumer, supplier));
            }
        }
    }

    /// Marks a link between nodes; 7.3 says so here, once a link.
    fn mark(&mut self, l: usize) {
        let link = &mut self.node_links[l];
        if self.rules >= Rules::K7_3 && !link.cycle {
            self.cycles.push((link.consumer, link.supplier));
        }
        link.cycle = true;
    }

    /// Whether a node depends on the consumer of a search. Answers that do not depend
    /// on the way that led to a node are kept.
    fn leads_back(&mut self, s: &mut Search, node: usize, depth: u32) -> bool {
        // Every look counts: of many ways most are cut off at once.
        if !self.work.step(s.consumer, depth) {
            return false;
        }
        if let Some(at) = self.nodes[node].visited {
            s.cut = s.cut.min(at);
            return false;
        }
        if node == s.consumer {
            return true;
        }
        // An answer that no visited node had a part in holds from everywhere: a node
        // of such an answer cannot lead to one above it, or it would have met it.
        if let (number, known) = self.nodes[node].known
            && number == s.number
        {
            return known;
        }
        let device = self.nodes[node].device;
        let status = |m: &Self, d: Option<usize>| d.map(|d| m.devices[d].status);
        if status(self, device) == Some(Status::Bound)
            && status(self, self.nodes[s.consumer].device) == Some(Status::NoDriver)
        {
            return false;
        }
        self.nodes[node].visited = Some(depth);
        let outer = std::mem::replace(&mut s.cut, u32::MAX);
        let mut found = false;
        for l in self.suppliers_of(node) {
            if self.node_links[l].ignored {
                continue;
            }
            if self.leads_back(s, self.node_links[l].supplier, depth + 1) {
                self.mark(l);
                found = true;
            }
        }
        let above = match device {
            Some(d) => self.devices[d].parent,
            None => self.device_above(node),
        };
        if let Some(n) = above.and_then(|d| self.devices[d].node) {
            found |= self.leads_back(s, n, depth + 1);
        }
        if let Some(d) = device {
            for i in 0..self.devices[d].suppliers.len() {
                let l = self.devices[d].suppliers[i];
                let link = &self.links[l];
                if !link.alive || (link.orders_nothing() && !link.cycle) {
                    continue;
                }
                let Some(n) = self.devices[link.supplier].node else { continue };
                if self.leads_back(s, n, depth + 1) {
                    self.links[l].relax();
                    self.links[l].cycle = true;
                    found = true;
                }
            }
        }
        self.nodes[node].visited = None;
        if s.cut > depth && !self.work.given_up.contains(&s.consumer) {
            self.nodes[node].known = (s.number, found);
        }
        // What was cut off at this node or below it is nothing to those above.
        s.cut = if s.cut < depth { s.cut.min(outer) } else { outer };
        found
    }
}
