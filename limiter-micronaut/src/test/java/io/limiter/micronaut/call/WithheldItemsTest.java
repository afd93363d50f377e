// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.micronaut.buffer.netty.NettyByteBufferFactory;
import io.micronaut.buffer.netty.NettyReadBufferFactory;
import io.micronaut.http.sse.Event;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Operators;

/** An item is sent once, or released once. */
class WithheldItemsTest {

  private final ByteBuf buffer = Unpooled.buffer().writeByte(1);
  private final CompletableFuture<Boolean> permission = new CompletableFuture<>();
  private final Reader reader = new Reader();

  /** What the item of a stream may be, around a buffer of Netty. */
  static Stream<Function<ByteBuf, Object>> items() {
    return Stream.of(
        buffer -> buffer,
        NettyByteBufferFactory.DEFAULT::wrap,
        buffer -> NettyReadBufferFactory.of(buffer.alloc()).adapt(buffer),
        buffer -> Event.of(NettyByteBufferFactory.DEFAULT.wrap(buffer)));
  }

  @ParameterizedTest
  @MethodSource("items")
  void anItemThatIsCutIsReleased(Function<ByteBuf, Object> item) {
    withheld(Flux.just(item.apply(buffer), "never"), Optional.of("last")).subscribe(reader);
    assertThat(buffer.refCnt()).isEqualTo(1);

    permission.complete(false);

    assertThat(buffer.refCnt()).isZero();
    assertThat(reader.items).containsExactly("last");
    assertThat(reader.ends).isEqualTo("complete");
  }

  @ParameterizedTest
  @MethodSource("items")
  void anItemWhoseReaderLeavesIsReleasedOnce(Function<ByteBuf, Object> item) {
    buffer.retain();
    withheld(Flux.just(item.apply(buffer)), Optional.empty()).subscribe(reader);

    reader.cancel();
    permission.complete(true);

    assertThat(buffer.refCnt()).isEqualTo(1);
    assertThat(reader.items).isEmpty();
  }

  @Test
  void anItemWhosePermissionFailsIsReleased() {
    withheld(Flux.just(buffer), Optional.empty()).subscribe(reader);

    permission.completeExceptionally(new IllegalStateException("away"));

    assertThat(buffer.refCnt()).isZero();
    assertThat(reader.ends).isEqualTo("away");
  }

  @Test
  void anItemWhoseCostThrowsIsReleased() {
    new WithheldItems(
            Flux.just(buffer),
            item -> {
              throw new IllegalStateException("broken");
            },
            Optional::empty)
        .subscribe(reader);

    assertThat(buffer.refCnt()).isZero();
    assertThat(reader.ends).isEqualTo("broken");
  }

  /** It was on its way as its reader left. */
  @Test
  void anItemThatComesTooLateIsReleased() {
    AtomicReference<Subscriber<? super ByteBuf>> source = new AtomicReference<>();
    withheld(
            (Publisher<ByteBuf>)
                subscriber -> {
                  source.set(subscriber);
                  subscriber.onSubscribe(Operators.emptySubscription());
                },
            Optional.empty())
        .subscribe(reader);

    reader.cancel();
    source.get().onNext(buffer);

    assertThat(buffer.refCnt()).isZero();
  }

  @Test
  void anItemThatIsSentIsItsReaders() {
    withheld(Flux.just(buffer), Optional.empty()).subscribe(reader);

    permission.complete(true);
    reader.cancel();

    assertThat(buffer.refCnt()).isEqualTo(1);
    assertThat(reader.items).containsExactly(buffer);
    assertThat(reader.ends).as("after its last item").isEqualTo("complete");
  }

  @Test
  void aFailureComesAfterTheItemBeforeIt() {
    withheld(
            Flux.just((Object) "x").concatWith(Flux.error(new IllegalStateException("failed"))),
            Optional.empty())
        .subscribe(reader);

    permission.complete(true);

    assertThat(reader.items).containsExactly("x");
    assertThat(reader.ends).isEqualTo("failed");
  }

  @Test
  void itemsAreRequestedOneByOneAsTheReaderWants() {
    List<Long> requests = new ArrayList<>();
    Reader slow =
        new Reader() {
          @Override
          protected void hookOnSubscribe(Subscription subscription) {
            subscription.request(2);
          }
        };
    new WithheldItems(Flux.range(0, 5).doOnRequest(requests::add), item -> null, Optional::empty)
        .subscribe(slow);

    assertThat(slow.items).containsExactly(0, 1);
    assertThat(requests).containsExactly(1L, 1L);
    slow.request(Long.MAX_VALUE);
    assertThat(slow.items).containsExactly(0, 1, 2, 3, 4);
    assertThat(slow.ends).isEqualTo("complete");
  }

  private WithheldItems withheld(Publisher<?> items, Optional<Object> last) {
    return new WithheldItems(items, item -> (CompletionStage<Boolean>) permission, () -> last);
  }

  private static class Reader extends BaseSubscriber<Object> {

    final List<Object> items = new ArrayList<>();
    String ends = "";

    @Override
    protected void hookOnNext(Object item) {
      items.add(item);
    }

    @Override
    protected void hookOnComplete() {
      ends += "complete";
    }

    @Override
    protected void hookOnError(Throwable failure) {
      ends += failure.getMessage();
    }
  }
}
