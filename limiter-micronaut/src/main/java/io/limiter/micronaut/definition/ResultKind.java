// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.definition;

import io.micronaut.core.annotation.AnnotationMetadata;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.type.Argument;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What a method returns, through every wrapper around it. Whatever depends on the end of a call, or
 * on what it has returned, asks here. Types are compared by name: many are optional, and the
 * compiler has no classes.
 */
@Internal
public enum ResultKind {
  /** A value, or nothing: it is there when the method, its stage or its {@code Mono} has ended. */
  VALUE,

  /** Items, which a Publisher sends after the method has returned. */
  STREAM,

  /** A Publisher of responses, of which the server sends one. */
  RESPONSES,

  /** A body that is produced while it is written, such as a file. */
  WRITTEN_LATER,

  /** Only the value shows it, as with {@code HttpResponse<?>}. */
  UNKNOWN,

  /** Its type does not show when a call ends. */
  HIDDEN,

  /** A stage or a Publisher of a class of which a guard cannot make another one. */
  OF_ITS_CLASS;

  private static final String SINGLE_RESULT = "io.micronaut.core.async.annotation.SingleResult";
  private static final String RESPONSE = "io.micronaut.http.HttpResponse";
  private static final Set<String> STAGE = Set.of("java.util.concurrent.CompletionStage");
  private static final Set<String> RESPONSE_ALONE = Set.of(RESPONSE);
  private static final Set<String> WRAPPERS = Set.of(RESPONSE, "java.util.Optional");

  private static final Set<String> HIDING =
      Set.of(
          "java.util.concurrent.Future", "kotlinx.coroutines.Deferred", "kotlinx.coroutines.Job");

  private static final Set<String> SINGLE =
      Set.of(
          "reactor.core.publisher.Mono",
          "io.reactivex.Single",
          "io.reactivex.Maybe",
          "io.reactivex.Completable",
          "io.reactivex.rxjava3.core.Single",
          "io.reactivex.rxjava3.core.Maybe",
          "io.reactivex.rxjava3.core.Completable");

  private static final Set<String> PUBLISHERS =
      Set.of(
          "org.reactivestreams.Publisher",
          "io.reactivex.Observable",
          "io.reactivex.rxjava3.core.Observable",
          "kotlinx.coroutines.flow.Flow");

  /** The stages and Publishers that a guard can make around those of a method. */
  private static final Set<String> MADE =
      Set.of(
          "java.util.concurrent.CompletionStage",
          "java.util.concurrent.CompletableFuture",
          "org.reactivestreams.Publisher",
          "reactor.core.CorePublisher",
          "reactor.core.publisher.Flux",
          "reactor.core.publisher.Mono",
          "io.reactivex.Completable",
          "io.reactivex.Flowable",
          "io.reactivex.Maybe",
          "io.reactivex.Observable",
          "io.reactivex.Single",
          "io.reactivex.rxjava3.core.Completable",
          "io.reactivex.rxjava3.core.Flowable",
          "io.reactivex.rxjava3.core.Maybe",
          "io.reactivex.rxjava3.core.Observable",
          "io.reactivex.rxjava3.core.Single",
          "kotlinx.coroutines.flow.Flow");

  private static final Set<String> LATER =
      Set.of(
          "java.io.File",
          "java.io.InputStream",
          "java.util.stream.BaseStream",
          "io.micronaut.core.io.Writable",
          "io.micronaut.http.server.types.files.FileCustomizableResponseType");

  /** A type, at the start or while it is compiled. */
  @Internal
  public interface Type {

    String name();

    /** Whether it, a supertype or an interface of it has one of these names. */
    boolean is(Set<String> names);

    /** Its first type argument; empty if it has none. */
    Optional<? extends Type> argument();

    /** Its text in messages. */
    default String description() {
      return name() + argument().map(inner -> "<" + inner.description() + ">").orElse("");
    }
  }

  /** A type at run time. */
  @Internal
  public record OfArgument(Argument<?> type) implements Type {

    @Override
    public String name() {
      return type.getType().getName();
    }

    @Override
    public boolean is(Set<String> names) {
      return is(type.getType(), names);
    }

    private static boolean is(@Nullable Class<?> type, Set<String> names) {
      return type != null
          && (names.contains(type.getName())
              || is(type.getSuperclass(), names)
              || Stream.of(type.getInterfaces()).anyMatch(implemented -> is(implemented, names)));
    }

    @Override
    public Optional<OfArgument> argument() {
      return type.getFirstTypeVariable().map(OfArgument::new);
    }
  }

  /** Judges what a method with these annotations returns. */
  public static ResultKind of(Type result, AnnotationMetadata method) {
    boolean publishes = result.is(PUBLISHERS);
    if ((publishes || result.is(STAGE) || result.is(SINGLE)) && !MADE.contains(result.name())) {
      return OF_ITS_CLASS;
    }
    if (result.is(STAGE)
        || result.is(SINGLE)
        || (publishes && method.hasStereotype(SINGLE_RESULT))) {
      return result.argument().map(ResultKind::ofValue).orElse(UNKNOWN);
    }
    return publishes && result.argument().filter(item -> item.is(RESPONSE_ALONE)).isPresent()
        ? RESPONSES
        : ofValue(result);
  }

  /** What is in a wrapper: a stage in one never shows its end to those who wait for the wrapper. */
  private static ResultKind ofValue(Type value) {
    if (value.is(WRAPPERS)) {
      return value.argument().map(ResultKind::ofValue).orElse(UNKNOWN);
    }
    if (value.is(HIDING) || value.is(STAGE)) {
      return HIDDEN;
    }
    if (value.is(PUBLISHERS) || value.is(SINGLE)) {
      return STREAM;
    }
    return value.is(LATER)
        ? WRITTEN_LATER
        : value.name().equals("java.lang.Object") ? UNKNOWN : VALUE;
  }
}
