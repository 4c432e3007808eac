// Kafka's own client for Java: the journey of journey.mjs, with the same arguments and files.
//
// javac -cp kafka-clients.jar -d CLASSES JavaJourney.java
// java -cp kafka-clients.jar:slf4j-api.jar:CLASSES JavaJourney BOOTSTRAP DIRECTORY [plain] [ABORTED]

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public final class JavaJourney {
    private static final int PARTITIONS = 4;
    private static final int PLAIN = 60;
    private static final int COMMITTED = 6;
    private static final int WAVE = 12;
    private static final long PATIENCE_MS = 60_000;
    private static final String END = "end of partition";

    private final String bootstrap;
    private final List<String> journal = new ArrayList<>();
    private final List<String> received = new ArrayList<>();
    private final Map<String, String> places = new HashMap<>();
    private final Map<String, List<String>> values = new LinkedHashMap<>();
    private boolean fenced;
    private Writer plain;

    private JavaJourney(String bootstrap) {
        this.bootstrap = bootstrap;
        for (String name : List.of("acknowledged", "committed", "aborted", "consumed", "seen", "made")) {
            values.put(name, new ArrayList<>());
        }
    }

    /** A producer that writes what it does into the journal. */
    private final class Writer {
        private final String name;
        private final KafkaProducer<String, String> producer;
        private int number;
        private String txn = "null";

        Writer(String name, String transactionalId) {
            Properties settings = common();
            settings.put("enable.idempotence", "true");
            settings.put("acks", "all");
            if (transactionalId != null) {
                settings.put("transactional.id", transactionalId);
            }
            this.name = name;
            producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
            event("producer", "\"tid\":" + (transactionalId == null ? "null" : quoted(transactionalId)));
            if (transactionalId != null) {
                producer.initTransactions();
            }
        }

        private void event(String what, String fields) {
            journal.add("{\"ev\":" + quoted(what) + ",\"p\":" + quoted(name) + "," + fields + "}");
        }

        void begin() {
            producer.beginTransaction();
            number += 1;
            txn = String.valueOf(number);
            event("begin", "\"txn\":" + txn);
        }

        void send(String topic, int partition, String value) {
            long offset;
            try {
                offset = producer.send(new ProducerRecord<>(topic, partition, null, value)).get().offset();
            } catch (Exception error) {
                throw error.getCause() instanceof KafkaException cause ? cause : new KafkaException(error);
            }
            String where = ",\"topic\":" + quoted(topic) + ",\"part\":" + partition + ",\"off\":" + offset;
            event("ack", "\"txn\":" + txn + where);
        }

        void sendOffsets(KafkaConsumer<String, String> member) {
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            member.assignment().forEach(each -> offsets.put(each, new OffsetAndMetadata(member.position(each))));
            producer.sendOffsetsToTransaction(offsets, member.groupMetadata());
            event("send_offsets", "\"txn\":" + txn + ",\"ok\":true");
        }

        void end(String how) {
            boolean ok = false;
            try {
                if (how.equals("commit")) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
                ok = true;
            } finally {
                event(how, "\"txn\":" + txn + ",\"ok\":" + ok);
                txn = "null";
            }
        }

        void close() {
            producer.close(Duration.ofSeconds(1));
        }
    }

    /** A member of the group, with a producer of its own; its second transaction is aborted. */
    private final class Worker {
        private final KafkaConsumer<String, String> member = reader("transformers");
        private final Writer writer;

        Worker(String name) {
            writer = new Writer(name, name);
            member.subscribe(List.of("in"));
        }

        void work() {
            List<ConsumerRecord<String, String>> records = polled(member);
            if (records.isEmpty()) {
                return;
            }
            writer.begin();
            String how = writer.number == 2 ? "abort" : "commit";
            try {
                for (ConsumerRecord<String, String> record : records) {
                    writer.send("out", record.partition(), "made of " + record.value());
                }
                writer.sendOffsets(member);
            } catch (KafkaException error) { // a rebalance has taken its partitions
                System.err.println(writer.name + ": " + error);
                how = "abort";
            }
            writer.end(how);
            if (how.equals("commit")) {
                records.forEach(record -> values.get("consumed").add(record.value()));
            } else {
                rewind(records);
            }
        }

        private void rewind(List<ConsumerRecord<String, String>> records) {
            Map<TopicPartition, Long> first = new HashMap<>();
            for (ConsumerRecord<String, String> record : records) {
                first.putIfAbsent(new TopicPartition(record.topic(), record.partition()), record.offset());
            }
            first.keySet().retainAll(member.assignment());
            first.forEach(member::seek);
        }

        void close() {
            member.close();
            writer.close();
        }
    }

    private Properties common() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("client.id", "journey");
        settings.put("reconnect.backoff.ms", "10");
        settings.put("reconnect.backoff.max.ms", "100");
        settings.put("retry.backoff.ms", "10");
        return settings;
    }

    private KafkaConsumer<String, String> reader(String group) {
        Properties settings = common();
        settings.put("group.id", group);
        settings.put("auto.offset.reset", "earliest");
        settings.put("isolation.level", "read_committed");
        settings.put("enable.auto.commit", "false");
        settings.put("heartbeat.interval.ms", "100");
        settings.put("fetch.max.wait.ms", "100");
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private static List<ConsumerRecord<String, String>> polled(KafkaConsumer<String, String> member) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        member.poll(Duration.ofMillis(100)).forEach(records::add);
        return records;
    }

    private void until(String what, List<Worker> workers, BooleanSupplier holds) {
        long giveUp = System.currentTimeMillis() + PATIENCE_MS;
        while (!holds.getAsBoolean()) {
            if (System.currentTimeMillis() > giveUp) {
                throw new IllegalStateException("still not: " + what);
            }
            workers.forEach(Worker::work);
        }
    }

    private boolean allIsMade() {
        Collection<String> wanted = new HashSet<>(values.get("acknowledged"));
        wanted.addAll(values.get("committed"));
        return new HashSet<>(values.get("consumed")).containsAll(wanted);
    }

    /** Records without transactions, on one partition after the other. */
    private void acknowledged(String what, int count) {
        for (int number = 0; number < count; number += 1) {
            String value = what + "-" + number;
            plain.send("in", number % PARTITIONS, value);
            values.get("acknowledged").add(value);
        }
    }

    private void transaction(Writer writer, String value, String how) {
        writer.begin();
        writer.send("in", 0, value);
        writer.end(how);
        values.get(how.equals("commit") ? "committed" : "aborted").add(value);
    }

    /** Transactions of an instance, until a second one begins; what the first then writes is refused. */
    private void instances(int aborted) {
        Writer first = new Writer("app-1", "app");
        for (int number = 0; number < aborted + COMMITTED; number += 1) {
            transaction(first, "txn-" + number, number < aborted ? "abort" : "commit");
        }
        Writer second = new Writer("app-2", "app");
        try {
            transaction(first, "zombie", "commit");
        } catch (KafkaException error) {
            fenced = true;
        }
        transaction(second, "of the second instance", "commit");
        first.close();
        second.close();
    }

    /** One member works, then two, then the other one. */
    private void group() {
        Worker first = new Worker("worker-1");
        until("all is made by the first", List.of(first), this::allIsMade);
        Worker second = new Worker("worker-2");
        List<Worker> both = List.of(first, second);
        BooleanSupplier shared = () -> both.stream().allMatch(each -> each.member.assignment().size() == PARTITIONS / 2);
        until("the members share the partitions", both, shared);
        acknowledged("shared", WAVE);
        until("all is made by both", both, this::allIsMade);
        first.close();
        until("the second has all", List.of(second), () -> second.member.assignment().size() == PARTITIONS);
        acknowledged("alone", WAVE);
        until("all is made by the second", List.of(second), this::allIsMade);
        second.close();
    }

    /** A reader of committed records reads each partition up to a last record. */
    private void read(List<String> topics) {
        for (String topic : topics) {
            for (int partition = 0; partition < PARTITIONS; partition += 1) {
                plain.send(topic, partition, END);
            }
        }
        try (KafkaConsumer<String, String> reader = reader("readers")) {
            reader.subscribe(topics);
            int ends = 0;
            long giveUp = System.currentTimeMillis() + PATIENCE_MS;
            while (ends < topics.size() * PARTITIONS && System.currentTimeMillis() < giveUp) {
                for (ConsumerRecord<String, String> record : polled(reader)) {
                    String place = "[" + quoted(record.topic()) + "," + record.partition() + "," + record.offset() + "]";
                    if (record.value().equals(places.put(place, record.value()))) {
                        continue; // a group that is joined again reads from the start
                    }
                    received.add(place);
                    if (record.value().equals(END)) {
                        ends += 1;
                    } else {
                        values.get(record.topic().equals("in") ? "seen" : "made").add(record.value());
                    }
                }
            }
        }
    }

    private void travel(boolean plainOnly, int aborted) {
        plain = new Writer("plain", null);
        acknowledged("plain", PLAIN);
        if (!plainOnly) {
            instances(aborted);
            group();
        }
        read(plainOnly ? List.of("in") : List.of("in", "out"));
        plain.close();
    }

    private void write(Path directory) throws IOException {
        Files.createDirectories(directory);
        Files.write(directory.resolve("journal.ndjson"), journal, StandardCharsets.UTF_8);
        Files.write(directory.resolve("received.ndjson"), received, StandardCharsets.UTF_8);
        String lists = values.entrySet().stream()
            .map(each -> quoted(each.getKey()) + ":" + each.getValue().stream().map(JavaJourney::quoted).toList())
            .collect(Collectors.joining(","));
        Files.writeString(directory.resolve("ledger.json"), "{" + lists + ",\"fenced\":" + fenced + "}");
    }

    private static String quoted(String text) {
        return "\"" + text + "\"";
    }

    public static void main(String[] arguments) throws IOException {
        JavaJourney journey = new JavaJourney(arguments[0]);
        boolean plainOnly = arguments.length > 2 && arguments[2].equals("plain");
        int aborted = arguments.length > 3 ? Integer.parseInt(arguments[3]) : 3;
        int code = 0;
        try {
            journey.travel(plainOnly, aborted);
        } catch (RuntimeException error) {
            error.printStackTrace();
            code = 1;
        }
        journey.write(Path.of(arguments[1]));
        System.exit(code);
    }
}
