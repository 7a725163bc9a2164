package tenure.interop;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;

/** The words of a command, read one after the other. */
final class Words {
    private final String line;
    private final Queue<String> left;

    Words(String line) {
        this.line = line;
        this.left = new ArrayDeque<>(List.of(line.split(" ")));
    }

    String next() {
        String word = left.poll();
        if (word == null) {
            throw new IllegalArgumentException("a word is missing at the end: " + line);
        }
        return word;
    }

    /** How many. */
    int number() {
        return Integer.parseInt(next());
    }

    /** A length in milliseconds. */
    long millis() {
        return Long.parseLong(next());
    }

    /** A lease in milliseconds; for {@code -} that which Redisson takes for "until unlocked, by the watchdog". */
    long lease() {
        String word = next();
        return word.equals("-") ? -1 : Long.parseLong(word);
    }
}
