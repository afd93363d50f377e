// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.micronaut.core.annotation.Internal;
import io.micronaut.core.io.buffer.ReadBuffer;
import io.micronaut.core.io.buffer.ReferenceCounted;
import io.micronaut.http.sse.Event;
import io.netty.util.ReferenceCountUtil;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.util.context.Context;

/**
 * Items of a publisher, each once it may be sent. One is requested at a time, as the reader does.
 * An item that is never sent, because the stream is cut, fails or is cancelled meanwhile, is
 * released if it counts references: no one else has it.
 */
@Internal
public final class WithheldItems implements Publisher<Object> {

  private final Publisher<?> items;
  private final Function<Object, @Nullable CompletionStage<Boolean>> permission;
  private final Supplier<Optional<Object>> last;

  /**
   * @param permission null if an item may be sent now; else completes with whether it may. If not,
   *     the stream ends before it
   * @param last makes the item that ends such a stream; empty for none
   */
  public WithheldItems(
      Publisher<?> items,
      Function<Object, @Nullable CompletionStage<Boolean>> permission,
      Supplier<Optional<Object>> last) {
    this.items = items;
    this.permission = permission;
    this.last = last;
  }

  @Override
  public void subscribe(Subscriber<? super Object> reader) {
    Flux.<Object>from(items).subscribe(new Reading(reader));
  }

  /** Gives up an object that is not sent, and what an event of it contains. */
  public static void release(@Nullable Object item) {
    if (item instanceof ReferenceCounted counted) {
      counted.release();
    } else if (item instanceof ReadBuffer buffer) {
      buffer.close();
    } else if (item instanceof Event<?> event) {
      release(event.getData());
    } else if (item != null) {
      try {
        OfNetty.release(item);
      } catch (NoClassDefFoundError absent) {
        // Then no item is Netty's.
      }
    }
  }

  /** Netty is optional. */
  private static final class OfNetty {

    static void release(Object item) {
      ReferenceCountUtil.safeRelease(item);
    }
  }

  /**
   * One subscription. The reader has at most one signal at a time, as the items come one by one.
   */
  private final class Reading implements CoreSubscriber<Object>, Subscription {

    private final Subscriber<? super Object> reader;
    private final AtomicLong wanted = new AtomicLong();
    private final AtomicReference<@Nullable Object> withheld = new AtomicReference<>();
    private final AtomicBoolean over = new AtomicBoolean(); // cancelled, cut, failed or complete

    // Guarded by this.
    private boolean busy; // an item is withheld, or sent after that
    private boolean ended;
    private @Nullable Throwable failure;

    private @Nullable Subscription source;

    Reading(Subscriber<? super Object> reader) {
      this.reader = reader;
    }

    @Override
    public Context currentContext() {
      return reader instanceof CoreSubscriber<?> core ? core.currentContext() : Context.empty();
    }

    @Override
    public void onSubscribe(Subscription subscription) {
      source = subscription;
      reader.onSubscribe(this);
    }

    @Override
    public void request(long more) {
      if (more > 0
          && wanted.getAndUpdate(before -> before + more < 0 ? Long.MAX_VALUE : before + more)
              == 0) {
        source().request(1);
      }
    }

    @Override
    public void cancel() {
      over.set(true);
      source().cancel();
      WithheldItems.release(withheld.getAndSet(null));
    }

    private Subscription source() {
      return Objects.requireNonNull(source);
    }

    @Override
    public void onNext(Object item) {
      if (over.get()) {
        WithheldItems.release(item);
        return;
      }
      CompletionStage<Boolean> allowed;
      try {
        allowed = permission.apply(item);
      } catch (Throwable broken) {
        WithheldItems.release(item);
        fail(broken);
        return;
      }
      if (allowed == null) {
        reader.onNext(item);
        sent();
        return;
      }
      synchronized (this) {
        busy = true;
      }
      withheld.set(item);
      if (over.get()) { // cancelled meanwhile
        WithheldItems.release(withheld.getAndSet(null));
      }
      var unused = allowed.whenComplete(this::decided);
    }

    private void decided(@Nullable Boolean sent, @Nullable Throwable broken) {
      Object item = withheld.getAndSet(null);
      if (item == null) {
        return; // cancelled
      }
      if (broken != null || !Boolean.TRUE.equals(sent)) {
        WithheldItems.release(item);
        if (broken == null) {
          cut();
        } else {
          fail(
              broken instanceof CompletionException && broken.getCause() != null
                  ? broken.getCause()
                  : broken);
        }
        return;
      }
      reader.onNext(item);
      boolean wasLast;
      synchronized (this) {
        busy = false;
        wasLast = ended;
      }
      if (wasLast) {
        finish();
      } else {
        sent();
      }
    }

    /** Requests the next item if the reader wants more. */
    private void sent() {
      if (wanted.updateAndGet(before -> before == Long.MAX_VALUE ? before : before - 1) > 0) {
        source().request(1);
      }
    }

    private void cut() {
      if (over.compareAndSet(false, true)) {
        source().cancel();
        last.get().ifPresent(reader::onNext);
        reader.onComplete();
      }
    }

    private void fail(Throwable broken) {
      if (over.compareAndSet(false, true)) {
        source().cancel();
        reader.onError(broken);
      }
    }

    @Override
    public void onError(Throwable broken) {
      end(broken);
    }

    @Override
    public void onComplete() {
      end(null);
    }

    private void end(@Nullable Throwable broken) {
      synchronized (this) {
        ended = true;
        failure = broken;
        if (busy) {
          return; // after the item
        }
      }
      finish();
    }

    private void finish() {
      Throwable broken;
      synchronized (this) {
        broken = failure;
      }
      if (!over.compareAndSet(false, true)) {
        return;
      }
      if (broken == null) {
        reader.onComplete();
      } else {
        reader.onError(broken);
      }
    }
  }
}
