// kafkajs: the journey of journey.mjs.

import { Kafka, logLevel } from "kafkajs";

import { main } from "./journey.mjs";

const RETRY = { initialRetryTime: 20, maxRetryTime: 200, retries: 50 };

main((brokers) => {
  const kafka = new Kafka({ brokers, clientId: "journey", logLevel: logLevel.NOTHING, retry: RETRY });

  // 2.2.4 tries Metadata once: if its connection is closed then, connect and subscribe fail, though the error is said to
  // be retriable.
  async function patiently(action) {
    for (let left = RETRY.retries; ; left -= 1) {
      try {
        return await action();
      } catch (error) {
        if (!error.retriable || left === 0) throw error;
      }
    }
  }

  async function subscribed(consumer, topics) {
    await patiently(() => consumer.connect());
    await patiently(() => consumer.subscribe({ topics, fromBeginning: true }));
  }

  async function producer(transactionalId) {
    const made = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      retry: transactionalId === null ? RETRY : { ...RETRY, retries: 5 },
      ...(transactionalId === null ? {} : { transactionalId }),
    });
    await patiently(() => made.connect());
    let sender = made;
    return {
      async begin() {
        sender = await made.transaction();
      },
      async send(topic, partition, value) {
        const [answer] = await sender.send({ topic, acks: -1, messages: [{ partition, value }] });
        return answer.baseOffset;
      },
      sendOffset: (member, { topic, partition, offset }) =>
        sender.sendOffsets({
          consumerGroupId: member.group,
          topics: [{ topic, partitions: [{ partition, offset: String(BigInt(offset) + 1n) }] }],
        }),
      commit: () => sender.commit(),
      abort: () => sender.abort(),
      close: () => made.disconnect(),
    };
  }

  async function member(group, onRecord) {
    const consumer = kafka.consumer({ groupId: group, heartbeatInterval: 100, maxWaitTimeInMs: 100 });
    let assigned = [];
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => (assigned = payload.memberAssignment.in ?? []));
    await subscribed(consumer, ["in"]);
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      async eachBatch({ batch: { topic, partition, messages }, resolveOffset, heartbeat, isRunning, isStale }) {
        for (const { offset, value } of messages) {
          if (!isRunning() || isStale()) return;
          if (!(await onRecord({ topic, partition, offset, value: value.toString() }))) {
            consumer.seek({ topic, partition, offset });
            return;
          }
          resolveOffset(offset);
          await heartbeat();
        }
      },
    });
    return { group, partitions: () => assigned, close: () => consumer.disconnect() };
  }

  // After a crash the reader begins again in a group of its own: in the group before, its member that is gone holds up
  // every rebalance for its session timeout, which begins anew wherever the group's coordinator moves.
  async function read(topics, onRecord) {
    let consumer = null;
    let groups = 0;
    let closed = false;
    async function begin() {
      groups += 1;
      consumer = kafka.consumer({
        groupId: `readers-${groups}`,
        maxWaitTimeInMs: 100,
        retry: { ...RETRY, restartOnFailure: async () => false },
      });
      consumer.on(consumer.events.CRASH, () => closed || begin());
      await subscribed(consumer, topics);
      await consumer.run({
        autoCommit: false,
        eachMessage: async ({ topic, partition, message: { offset, value } }) =>
          onRecord({ topic, partition, offset, value: value.toString() }),
      });
    }
    await begin();
    return {
      // disconnect() of 2.2.4 can come while the fetch manager exchanges its fetchers because the nodes have changed. Then
      // new fetchers start after the stop, find no running consumer, and ask again without a pause: no timer and no socket
      // of the process is ever served again. The reader is the last to close, and the process ends after it.
      close: async () => {
        closed = true;
      },
    };
  }

  return { producer, member, read };
});
