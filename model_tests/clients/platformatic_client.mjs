// @platformatic/kafka: the journey of journey.mjs.

import { Consumer, FetchIsolationLevels, MessagesStreamFallbackModes, MessagesStreamModes, Producer } from "@platformatic/kafka";

import { main } from "./journey.mjs";

const text = { value: (data) => data?.toString() };
// 2.12.1 asks for the epoch of producer id 0 if it is given none, and a second instance is refused.
const ANY_INSTANCE = { producerId: -1n, producerEpoch: -1 };
// Three retries, the default, are fewer than the moves of a group's coordinator that may follow each other under faults.
const COMMON = { clientId: "journey", retryDelay: 20, retries: 50 };

main((bootstrapBrokers) => {
  async function producer(transactionalId) {
    const made = new Producer({
      ...COMMON,
      bootstrapBrokers,
      idempotent: true,
      serializers: { value: (data) => Buffer.from(data) },
      ...(transactionalId === null ? {} : { transactionalId }),
    });
    let transaction = null;
    return {
      async begin() {
        transaction = await made.beginTransaction(ANY_INSTANCE);
      },
      async send(topic, partition, value) {
        const { offsets } = await (transaction ?? made).send({ messages: [{ topic, partition, value }] });
        return offsets[0].offset;
      },
      async sendOffset(member, { message }) {
        await transaction.addConsumer(member.consumer);
        await transaction.addOffset(message);
      },
      commit: () => transaction.commit(),
      abort: () => transaction.abort(),
      close: () => made.close(true),
    };
  }

  function consumer(groupId) {
    return new Consumer({
      ...COMMON,
      bootstrapBrokers,
      groupId,
      autocommit: false,
      heartbeatInterval: 100,
      maxWaitTime: 100,
      minBytes: 1,
      isolationLevel: FetchIsolationLevels.READ_COMMITTED,
      deserializers: text,
    });
  }

  const record = (message) => ({
    topic: message.topic,
    partition: message.partition,
    offset: message.offset,
    value: message.value,
    message,
  });

  function stream(reader, topics) {
    return reader.consume({
      topics,
      mode: MessagesStreamModes.COMMITTED,
      fallbackMode: MessagesStreamFallbackModes.EARLIEST,
    });
  }

  async function member(group, onRecord) {
    const joined = consumer(group);
    let closed = false;

    async function work() {
      while (!closed) {
        const messages = await stream(joined, ["in"]);
        for await (const message of messages) {
          if (closed || !(await onRecord(record(message)))) break;
        }
      }
    }

    const working = work().catch((error) => closed || console.error(error));
    return {
      consumer: joined,
      partitions: () => joined.assignments?.find(({ topic }) => topic === "in")?.partitions ?? [],
      async close() {
        closed = true;
        await joined.close(true);
        await working;
      },
    };
  }

  // LeaveGroup is tried once, and a group's coordinator may just have moved: then the session timeout ends the membership.
  const leave = (reader) => reader.close(true).catch(() => undefined);

  // 2.12.1 repeats a fetch on the node that it first chose, however often that says that it does not lead any more; then
  // the stream ends. The reader begins again in a group of its own, as after any error of a stream.
  async function read(topics, onRecord) {
    let reader = null;
    let groups = 0;
    let closed = false;
    async function begin() {
      groups += 1;
      reader = consumer(`readers-${groups}`);
      const messages = await stream(reader, topics);
      messages.on("data", (message) => onRecord(record(message)));
      messages.on("error", async () => {
        if (closed) return;
        await leave(reader);
        await begin();
      });
    }
    await begin();
    return {
      close: () => {
        closed = true;
        return leave(reader);
      },
    };
  }

  return { producer, member, read };
});
