package tenure.interop;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.time.Duration;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;

/** What a thread can be told to do with what is counted, and what it answers. */
final class Counts {
    private Counts() {}

    static String run(String verb, RSemaphore semaphore, Words words) throws InterruptedException {
        return switch (verb) {
            case "acquire" -> {
                semaphore.acquire(words.number());
                yield "";
            }
            case "tryAcquire" ->
                    String.valueOf(semaphore.tryAcquire(words.number(), Duration.ofMillis(words.millis())));
            case "release" -> {
                semaphore.release(words.number());
                yield "";
            }
            case "availablePermits" -> String.valueOf(semaphore.availablePermits());
            case "addPermits" -> {
                semaphore.addPermits(words.number());
                yield "";
            }
            case "drainPermits" -> String.valueOf(semaphore.drainPermits());
            case "trySetPermits" -> String.valueOf(semaphore.trySetPermits(words.number()));
            default -> throw new IllegalArgumentException("no such verb: " + verb);
        };
    }

    /** A permit is named by its id; {@code -} for none. */
    static String run(String verb, RPermitExpirableSemaphore permits, Words words) throws InterruptedException {
        return switch (verb) {
            case "acquire" -> {
                long lease = words.lease();
                yield lease < 0 ? permits.acquire() : permits.acquire(lease, MILLISECONDS);
            }
            case "tryAcquire" -> {
                String id = permits.tryAcquire(words.millis(), words.lease(), MILLISECONDS);
                yield id == null ? "-" : id;
            }
            case "release" -> {
                permits.release(words.next());
                yield "";
            }
            case "tryRelease" -> String.valueOf(permits.tryRelease(words.next()));
            case "updateLeaseTime" ->
                    String.valueOf(permits.updateLeaseTime(words.next(), words.millis(), MILLISECONDS));
            case "getLeaseTime" -> String.valueOf(permits.getLeaseTime(words.next()));
            case "availablePermits" -> String.valueOf(permits.availablePermits());
            case "acquiredPermits" -> String.valueOf(permits.acquiredPermits());
            case "trySetPermits" -> String.valueOf(permits.trySetPermits(words.number()));
            default -> throw new IllegalArgumentException("no such verb: " + verb);
        };
    }

    static String run(String verb, RCountDownLatch latch, Words words) throws InterruptedException {
        return switch (verb) {
            case "trySetCount" -> String.valueOf(latch.trySetCount(words.millis()));
            case "countDown" -> {
                latch.countDown();
                yield "";
            }
            case "getCount" -> String.valueOf(latch.getCount());
            case "await" -> String.valueOf(latch.await(words.millis(), MILLISECONDS));
            case "delete" -> String.valueOf(latch.delete());
            default -> throw new IllegalArgumentException("no such verb: " + verb);
        };
    }
}
