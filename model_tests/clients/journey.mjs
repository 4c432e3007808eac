// The journey of an application through a client library: node CLIENT.mjs BOOTSTRAP DIRECTORY [plain] [ABORTED]
//
// plain: only an idempotent producer, and a reader. Otherwise transactions that commit and abort, an instance that a
// second one fences, and a group of two members that makes records of `out` of those of `in`, each with its offset in
// one transaction, while members come and go. Topics `in` and `out` of PARTITIONS partitions are there.
//
// A library is `{ producer(transactionalId), member(group, onRecord), read(onRecord) }`; onRecord of a member answers
// whether to go on behind the record; if not, the member begins again at what the group has committed.

import { END, JournalledProducer, Ledger } from "./ledger.mjs";

const PARTITIONS = 4;
const PLAIN = 60;
const COMMITTED = 6;
const WAVE = 12;
const PATIENCE_MS = 60_000;

async function until(what, holds) {
  const giveUp = Date.now() + PATIENCE_MS;
  while (!holds()) {
    if (Date.now() > giveUp) throw new Error(`after ${PATIENCE_MS} ms still not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

class Journey {
  constructor(library) {
    this.clientLibrary = library;
    this.ledger = new Ledger();
    this.values = this.ledger.values;
    this.plain = null;
  }

  async producer(name, transactionalId = null) {
    return new JournalledProducer(this.ledger, name, transactionalId, await this.clientLibrary.producer(transactionalId));
  }

  // Records without transactions, on one partition after the other.
  async acknowledged(what, count) {
    for (let number = 0; number < count; number += 1) {
      const value = `${what}-${number}`;
      await this.plain.send("in", number % PARTITIONS, value);
      this.values.acknowledged.push(value);
    }
  }

  // Transactions of one producer: all aborted ones first, then those that commit.
  async transactions(app, aborted) {
    for (let number = 0; number < aborted + COMMITTED; number += 1) {
      const value = `txn-${number}`;
      await app.begin();
      await app.send("in", 0, value);
      await app.end(number < aborted ? "abort" : "commit");
      this.values[number < aborted ? "aborted" : "committed"].push(value);
    }
  }

  // A second instance begins (kafkajs gets its epoch then), and the first is refused.
  async fencing(first) {
    const second = await this.producer("app-2", "app");
    await second.begin();
    try {
      await first.begin();
      await first.send("in", 0, "zombie");
      await first.end("commit");
    } catch {
      this.values.fenced = true;
    }
    await second.send("in", 0, "of the second instance");
    await second.end("commit");
    this.values.committed.push("of the second instance");
    await second.made.close();
    await first.made.close();
  }

  // A member of the group with a producer of its own; its third transaction is aborted.
  async worker(name) {
    const producer = await this.producer(name, name);
    const member = await this.clientLibrary.member("transformers", async (record) => {
      const aborts = producer.number === 2;
      await producer.begin();
      try {
        await producer.send("out", record.partition, `made of ${record.value}`);
        await producer.sendOffset(member, record);
        await producer.end(aborts ? "abort" : "commit");
      } catch (error) {
        console.error(`${name}: ${error}`);
        await producer.end("abort");
        return false;
      }
      if (!aborts) this.values.consumed.push(record.value);
      return !aborts;
    });
    return { member, producer };
  }

  async group() {
    const all = () => new Set(this.values.consumed).size >= this.wanted();
    const first = await this.worker("worker-1");
    await until("the first member has transformed all", all);
    const second = await this.worker("worker-2");
    const shared = () => [first, second].every((each) => each.member.partitions().length === PARTITIONS / 2);
    await until("the members share the partitions", shared);
    await this.acknowledged("shared", WAVE);
    await until("both members together have transformed all", all);
    await first.member.close();
    await until("the second member has all partitions", () => second.member.partitions().length === PARTITIONS);
    await this.acknowledged("alone", WAVE);
    await until("the second member has transformed all", all);
    await second.member.close();
    await first.producer.made.close();
    await second.producer.made.close();
  }

  wanted() {
    return this.values.acknowledged.length + this.values.committed.length;
  }

  // A reader of committed records reads every partition up to a last record.
  async read(topics) {
    for (const topic of topics) {
      for (let partition = 0; partition < PARTITIONS; partition += 1) await this.plain.send(topic, partition, END);
    }
    let ends = 0;
    const reader = await this.clientLibrary.read(topics, ({ topic, partition, offset, value }) => {
      if (this.ledger.reads(topic, partition, offset, value) && value === END) ends += 1;
    });
    await until("the reader has come to the end", () => ends === topics.length * PARTITIONS);
    await reader.close();
  }

  async run(plainOnly, aborted) {
    this.plain = await this.producer("plain");
    await this.acknowledged("plain", PLAIN);
    if (!plainOnly) {
      const app = await this.producer("app-1", "app");
      await this.transactions(app, aborted);
      await this.fencing(app);
      await this.group();
    }
    await this.read(plainOnly ? ["in"] : ["in", "out"]);
    await this.plain.made.close();
  }
}

export async function main(libraryOf) {
  const [bootstrap, directory, what = "all", aborted = "3"] = process.argv.slice(2);
  const journey = new Journey(libraryOf(bootstrap.split(",")));
  try {
    await journey.run(what === "plain", Number(aborted));
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
  journey.ledger.write(directory);
  process.exit();
}
