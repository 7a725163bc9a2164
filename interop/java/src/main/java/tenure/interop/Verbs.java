package tenure.interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.StringJoiner;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;

/** What a thread can be told to do with a lock, and what it answers. */
final class Verbs {
    private Verbs() {}

    /** Does it on this thread, which is the lock's owner if it comes to that. */
    static String run(String verb, Client client, Words words) throws InterruptedException {
        String kind = words.next();
        String key = words.next();
        switch (kind) {
            case "semaphore":
                return Counts.run(verb, client.redisson().getSemaphore(key), words);
            case "permits":
                return Counts.run(verb, client.redisson().getPermitExpirableSemaphore(key), words);
            case "latch":
                return Counts.run(verb, client.redisson().getCountDownLatch(key), words);
            default:
                return run(verb, client.lock(kind, key), words);
        }
    }

    private static String run(String verb, RLock lock, Words words) throws InterruptedException {
        return switch (verb) {
            case "lock" -> {
                lock.lock(words.lease(), MILLISECONDS);
                yield "";
            }
            case "tryLock" -> String.valueOf(lock.tryLock(words.millis(), words.lease(), MILLISECONDS));
            case "unlock" -> {
                lock.unlock();
                yield "";
            }
            case "forceUnlock" -> String.valueOf(lock.forceUnlock());
            case "isLocked" -> String.valueOf(lock.isLocked());
            case "holdCount" -> String.valueOf(lock.getHoldCount());
            case "isHeld" -> String.valueOf(lock.isHeldByCurrentThread());
            case "remainTimeToLive" -> String.valueOf(lock.remainTimeToLive());
            case "lockAndGetToken" -> String.valueOf(((RFencedLock) lock).lockAndGetToken());
            case "tryLockAndGetToken" -> {
                Long token = ((RFencedLock) lock).tryLockAndGetToken(words.millis(), words.lease(), MILLISECONDS);
                yield token == null ? "-" : String.valueOf(token);
            }
            case "stress" -> stress(lock, words.millis(), words.millis());
            default -> throw new IllegalArgumentException("no such verb: " + verb);
        };
    }

    /**
     * Locks and unlocks for so long, and stays in for so long each time. Answers when the lock was asked for, had and
     * about to be given up, each time: nanoseconds of {@link System#nanoTime}, which on Linux is {@code
     * CLOCK_MONOTONIC}, the same for all processes.
     */
    private static String stress(RLock lock, long length, long section) throws InterruptedException {
        StringJoiner holds = new StringJoiner(" ");
        long end = System.nanoTime() + MILLISECONDS.toNanos(length);
        for (long asked; (asked = System.nanoTime()) < end; ) {
            lock.lock();
            long granted = System.nanoTime();
            Thread.sleep(section);
            long ended = System.nanoTime();
            lock.unlock();
            holds.add(asked + "," + granted + "," + ended);
        }
        return holds.toString();
    }
}
