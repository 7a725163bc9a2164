package tenure.interop;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/** One command per line of standard input, one answer per line of standard output, each in its own time. */
public final class Driver {
    private final Map<String, Client> clients = new ConcurrentHashMap<>();
    /** For what is said to no thread in particular: connecting and taking leave. */
    private final Executor desk = Executors.newCachedThreadPool(Client::daemon);
    private final PrintStream answers;

    private Driver(PrintStream answers) {
        this.answers = answers;
    }

    public static void main(String[] args) throws IOException {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, UTF_8);
        // Whatever else is printed in here must not be taken for an answer.
        System.setOut(System.err);
        Driver driver = new Driver(answers);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        answers.println("ready " + System.nanoTime());
        for (String line; (line = commands.readLine()) != null; ) {
            driver.take(new Words(line));
        }
        // Whoever gave the commands is gone. No good-byes: what is locked stays so until its lease ends.
        Runtime.getRuntime().halt(0);
    }

    private void take(Words words) {
        String id = words.next();
        try {
            String verb = words.next();
            switch (verb) {
                case "connect" -> run(id, desk, () -> connect(words));
                case "disconnect" -> run(id, desk, () -> disconnect(words));
                case "shutdown" -> shutdown(id);
                default -> {
                    Client client = client(words.next());
                    run(id, client.thread(words.next()), () -> Verbs.run(verb, client, words));
                }
            }
        } catch (RuntimeException failure) {
            fail(id, failure);
        }
    }

    private void run(String id, Executor where, Callable<String> work) {
        where.execute(() -> {
            try {
                answer(id, "ok " + work.call());
            } catch (Throwable failure) {
                // An answer like any other: what went wrong on one thread is no reason to end those beside it.
                fail(id, failure);
            }
        });
    }

    private void fail(String id, Throwable failure) {
        answer(id, "error " + failure.getClass().getName() + " " + failure.getMessage());
    }

    private void answer(String id, String text) {
        answers.println(id + " " + text.replaceAll("\\s+", " ").trim());
    }

    private String connect(Words words) {
        String name = words.next();
        clients.put(name, new Client(words.next(), words.millis()));
        return "";
    }

    private String disconnect(Words words) {
        String name = words.next();
        client(name).close();
        clients.remove(name);
        return "";
    }

    private void shutdown(String id) {
        clients.values().forEach(Client::close);
        answer(id, "ok");
        Runtime.getRuntime().halt(0);
    }

    private Client client(String name) {
        Client client = clients.get(name);
        if (client == null) {
            throw new IllegalArgumentException("no such client, connect it first: " + name);
        }
        return client;
    }
}
