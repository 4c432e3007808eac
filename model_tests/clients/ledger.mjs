// What an application did and was answered: the journal and the reader's records, as `eos audit --history` takes them,
// and a ledger of values, which the test compares.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// The value of the last record of each partition.
export const END = "end of partition";

export class Ledger {
  constructor() {
    this.journal = [];
    this.received = [];
    this.places = new Map();
    this.values = { acknowledged: [], committed: [], aborted: [], consumed: [], seen: [], made: [], fenced: false };
  }

  // An event of the journal: producer, begin, ack, send_offsets, commit, abort.
  event(ev, fields) {
    this.journal.push({ ev, ...fields });
  }

  // A record that the reader of committed records was given; a group that is joined again reads from the start, so that
  // the same place may come again, and has to hold the same value then. Returns whether it is new.
  reads(topic, partition, offset, value) {
    const place = `${topic}-${partition}@${offset}`;
    if (this.places.get(place) === value) return false;
    this.places.set(place, value);
    this.received.push([topic, partition, Number(offset)]);
    if (value !== END) this.values[topic === "in" ? "seen" : "made"].push(value);
    return true;
  }

  write(directory) {
    mkdirSync(directory, { recursive: true });
    const lines = (rows) => rows.map((row) => JSON.stringify(row) + "\n").join("");
    writeFileSync(join(directory, "journal.ndjson"), lines(this.journal));
    writeFileSync(join(directory, "received.ndjson"), lines(this.received));
    writeFileSync(join(directory, "ledger.json"), JSON.stringify(this.values));
  }
}

// A producer that writes what it does into a ledger. `made` is the library's, behind begin, send, sendOffset, commit,
// abort and close; send answers the offset.
export class JournalledProducer {
  constructor(ledger, name, transactionalId, made) {
    this.ledger = ledger;
    this.name = name;
    this.made = made;
    this.txn = null;
    this.number = 0;
    ledger.event("producer", { p: name, tid: transactionalId });
  }

  async begin() {
    await this.made.begin();
    this.number += 1;
    this.txn = this.number;
    this.ledger.event("begin", { p: this.name, txn: this.txn });
  }

  async send(topic, partition, value) {
    const off = Number(await this.made.send(topic, partition, value));
    this.ledger.event("ack", { p: this.name, txn: this.txn, topic, part: partition, off });
  }

  async sendOffset(member, record) {
    await this.made.sendOffset(member, record);
    this.ledger.event("send_offsets", { p: this.name, txn: this.txn, ok: true });
  }

  async end(how) {
    let ok = false;
    try {
      await this.made[how]();
      ok = true;
    } finally {
      this.ledger.event(how, { p: this.name, txn: this.txn, ok });
      this.txn = null;
    }
  }
}
