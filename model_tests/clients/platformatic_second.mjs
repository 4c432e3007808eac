// @platformatic/kafka: whether a second instance of a transactional id may begin, by the library's own defaults.
// node platformatic_second.mjs BOOTSTRAP; it prints the name of the error, or that there is none.

import { Producer } from "@platformatic/kafka";

const [bootstrap] = process.argv.slice(2);

function instance(transactionalId) {
  return new Producer({
    clientId: "second",
    bootstrapBrokers: bootstrap.split(","),
    idempotent: true,
    retries: 3,
    retryDelay: 20,
    transactionalId,
  });
}

let said = "no error";
for (const transactionalId of ["another", "app", "app"]) {
  try {
    const transaction = await instance(transactionalId).beginTransaction();
    await transaction.abort();
  } catch (error) {
    const codes = JSON.stringify(error, (_, value) => (typeof value === "bigint" ? String(value) : value));
    said = error.errors?.[0]?.apiId ?? codes;
  }
}
console.log(said);
process.exit();
