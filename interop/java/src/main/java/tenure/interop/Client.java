package tenure.interop;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** One Redisson client, and the threads on which it is used. */
final class Client {
    private final RedissonClient redisson;
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();

    Client(String address, long watchdogTimeout) {
        Config config = new Config().setLockWatchdogTimeout(watchdogTimeout);
        // As it comes, but smaller: several of these share a small machine with what they are tested against.
        config.setThreads(4).setNettyThreads(4);
        config.useSingleServer()
                .setAddress(address)
                .setConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionMinimumIdleSize(1);
        redisson = Redisson.create(config);
    }

    /** The thread of that name: always the same one, because a lock's owner is a thread. */
    Executor thread(String name) {
        return threads.computeIfAbsent(name, ignored -> Executors.newSingleThreadExecutor(Client::daemon));
    }

    RedissonClient redisson() {
        return redisson;
    }

    RLock lock(String kind, String key) {
        return switch (kind) {
            case "lock" -> redisson.getLock(key);
            case "fenced" -> redisson.getFencedLock(key);
            case "fair" -> redisson.getFairLock(key);
            case "read" -> redisson.getReadWriteLock(key).readLock();
            case "write" -> redisson.getReadWriteLock(key).writeLock();
            default -> throw new IllegalArgumentException("no such kind of lock: " + kind);
        };
    }

    /** Lets go of the server and of whoever still waits; what is locked stays so until its lease ends. */
    void close() {
        redisson.shutdown();
        threads.values().forEach(ExecutorService::shutdownNow);
    }

    /** A thread that keeps no driver alive. */
    static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }
}
