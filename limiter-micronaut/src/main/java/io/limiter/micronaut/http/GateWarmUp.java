// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.store.LimitStore;
import io.limiter.micronaut.address.IpAddress;
import io.limiter.micronaut.call.AdmissionControl;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.config.CallerConfiguration.AddressConfiguration;
import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.HeadersConfiguration;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.denial.DenialBodyFactory;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.Continuations;
import io.limiter.micronaut.thread.WarmUpStep;
import io.micronaut.context.BeanContext;
import io.micronaut.context.MessageSource;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.io.buffer.ByteArrayBufferFactory;
import io.micronaut.core.io.buffer.ByteBufferFactory;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.body.ByteBodyFactory;
import io.micronaut.http.body.MessageBodyHandlerRegistry;
import io.micronaut.http.body.MessageBodyWriter;
import io.micronaut.http.body.ResponseBodyWriter;
import io.micronaut.http.context.event.HttpRequestTerminatedEvent;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import io.micronaut.http.server.exceptions.response.JsonErrorResponseBodyProvider;
import io.micronaut.http.server.util.locale.HttpLocaleResolutionConfiguration;
import io.micronaut.http.server.util.locale.HttpLocaleResolver;
import io.micronaut.http.simple.SimpleHttpRequest;
import io.micronaut.runtime.server.EmbeddedServer;
import jakarta.inject.Singleton;
import java.net.InetAddress;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;

/**
 * Runs the gate from the request to the encoded answer: an admission, a 429, another admission and
 * a 409, in two languages. What the application has put in the place of a part of ours, or of
 * Micronaut's, is not asked: the part that it replaces is run, or no words are looked up.
 */
@Singleton
@Requires(beans = EmbeddedServer.class)
final class GateWarmUp implements WarmUpStep {

  private static final String PATH = "/" + POLICY;

  private final AdmissionControl admission;
  private final RequestSubjects subjects;
  private final Continuations continuations;
  private final GateFilter gate;
  private final LimitedResponseFilter response;
  private final RateLimitFields fields;
  private final LimitDeniedHandler denials;
  private final DirectDenials answers;
  private final DenialText text;
  private final Optional<MessageBodyHandlerRegistry> writers;
  private final ByteBodyFactory bodies;

  @SuppressWarnings("rawtypes") // as Micronaut declares its bean
  GateWarmUp(
      BeanContext beans,
      GateFilter gate,
      LimitedResponseFilter response,
      DirectDenials answers,
      AdmissionControl admission,
      AddressConfiguration addresses,
      Continuations continuations,
      DenialConfiguration denialSettings,
      HeadersConfiguration headers,
      RateLimitFields fields,
      DenialBody body,
      DenialMessages messages) {
    this.admission = admission;
    this.continuations = continuations;
    this.gate = gate;
    this.response = response;
    this.subjects = new RequestSubjects(request -> address(addresses));
    this.fields =
        fields.getClass() == RateLimitFields.class ? fields : new RateLimitFields(headers);
    boolean words = wordsAreOurs(beans, messages);
    this.text = words ? DenialText.NONE : DenialText.message(POLICY);
    this.denials =
        new LimitDeniedHandler(
            denialSettings,
            words ? messages : silent(beans),
            bodyIsOurs(beans, body) ? body : DenialBodyFactory.problem(body));
    this.answers = answers.with(this.denials);
    this.writers = beans.findBean(MessageBodyHandlerRegistry.class);
    Optional<ByteBufferFactory> buffers = beans.findBean(ByteBufferFactory.class);
    this.bodies =
        ByteBodyFactory.createDefault(
            buffers.isPresent() ? buffers.get() : ByteArrayBufferFactory.INSTANCE);
  }

  private static boolean wordsAreOurs(BeanContext beans, DenialMessages messages) {
    return messages.getClass() == DenialMessages.class
        && areOurs(beans, MessageSource.class)
        && areOurs(beans, HttpLocaleResolver.class);
  }

  private static boolean bodyIsOurs(BeanContext beans, DenialBody body) {
    return isOurs(body)
        && areOurs(beans, ErrorResponseProcessor.class)
        && areOurs(beans, JsonErrorResponseBodyProvider.class);
  }

  private static boolean areOurs(BeanContext beans, Class<?> type) {
    for (Object bean : beans.getBeansOfType(type)) {
      if (!isOurs(bean)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isOurs(Object bean) {
    String of = bean.getClass().getPackageName();
    return of.startsWith("io.micronaut.")
        || of.equals(GateWarmUp.class.getPackageName())
        || of.equals(DenialMessages.class.getPackageName());
  }

  /** Never looks a message up: the text of the warm-up is literal. */
  private static DenialMessages silent(BeanContext beans) {
    return new DenialMessages(
        beans.getBean(MessageSource.class),
        beans.getBeansOfType(HttpLocaleResolver.class).iterator().next(),
        beans.getBean(HttpLocaleResolutionConfiguration.class));
  }

  /**
   * The address as the limiter reads it. A bean of the application that finds it is not called: it
   * may log the request.
   */
  private static String address(AddressConfiguration addresses) {
    IpAddress address = IpAddress.of(InetAddress.getLoopbackAddress());
    String read = address.network(addresses.ipv6Prefix());
    if (!addresses.proxies().isEmpty()) {
      IpAddress client = addresses.header().client(List.of(read), addresses.proxies());
      return client == null ? read : client.network(addresses.ipv6Prefix());
    }
    return read;
  }

  @Override
  public CompletionStage<?> run(LimitStore store, Executor home) {
    CallerThreads threads = new CallerThreads(List.of(request -> Optional.of(home)), continuations);
    Filters filters =
        new Filters(
            gate.with(subjects, admission.with(store, threads), answers),
            response.with(fields, threads));
    // Of this run alone: another may have used up what the plan allows.
    String limit = POLICY + '.' + Long.toHexString(ThreadLocalRandom.current().nextLong());
    LimitPlan limited = LimitPlan.ofWarmUp(limit, false, text);
    LimitPlan submitted = LimitPlan.ofWarmUp(limit, true, text);
    CompletableFuture<Void> late = new CompletableFuture<>(); // as memory's decisions never are
    CompletionStage<Void> calls = threads.back(late, Optional.of(request(Locale.ENGLISH)));
    late.complete(null);
    for (WarmUpCall call :
        List.of(
            new WarmUpCall(limited, Locale.ENGLISH),
            new WarmUpCall(limited, Locale.ENGLISH),
            new WarmUpCall(submitted, Locale.CHINESE),
            new WarmUpCall(submitted, Locale.CHINESE))) {
      calls = calls.thenCompose(before -> make(call, filters));
    }
    return calls;
  }

  private CompletionStage<Void> make(WarmUpCall call, Filters filters) {
    HttpRequest<?> request = request(call.language());
    var unused = gate.isEnabled(request);
    return filters
        .gate()
        .decide(request, call.plan())
        .handle(
            (denial, thrown) ->
                answer(filters, request, thrown == null ? denial : handled(request, thrown)))
        .thenCompose(Function.identity())
        .thenAccept(response -> end(filters, request, response));
  }

  private CompletionStage<MutableHttpResponse<?>> answer(
      Filters filters, HttpRequest<?> request, Optional<MutableHttpResponse<?>> denial) {
    Optional<LimitedCall> call = LimitedCall.of(request);
    if (call.isPresent() && !call.get().isDenied() && call.get().enter()) { // as the guard does
      var unused = call.get().on(new LimitedCall.Event.Returned(null));
    }
    return filters
        .response()
        .respond(request, denial.isPresent() ? denial.get() : HttpResponse.ok());
  }

  private void end(Filters filters, HttpRequest<?> request, MutableHttpResponse<?> response) {
    filters.response().answer(request, response);
    encode(request, response);
    filters.response().onApplicationEvent(new HttpRequestTerminatedEvent(request));
  }

  private static HttpRequest<?> request(Locale language) {
    return new SimpleHttpRequest<>(HttpMethod.GET, PATH, null)
        .header(HttpHeaders.ACCEPT_LANGUAGE, language.toLanguageTag());
  }

  /** Where the application is to get the exception, as the handler answers it. */
  private Optional<MutableHttpResponse<?>> handled(HttpRequest<?> request, Throwable thrown) {
    Throwable cause = thrown instanceof CompletionException ? thrown.getCause() : thrown;
    if (cause instanceof LimitDeniedException denied) {
      return Optional.of(denials.handle(request, denied));
    }
    throw new CompletionException(cause);
  }

  /** As the server encodes it. */
  private void encode(HttpRequest<?> request, MutableHttpResponse<?> response) {
    Object body = response.body();
    if (body == null || writers.isEmpty()) {
      return;
    }
    MediaType type = response.getContentType().orElse(MediaType.APPLICATION_JSON_TYPE);
    @SuppressWarnings("unchecked")
    Argument<Object> argument = Argument.of((Class<Object>) body.getClass());
    MessageBodyWriter<Object> writer =
        writers.get().findWriter(argument, List.of(type)).orElse(null);
    if (writer != null && !writer.isBlocking()) {
      ResponseBodyWriter.wrap(writer)
          .writePiece(bodies, request, response, argument, type, body)
          .close();
    }
  }

  /** A call by this plan, in this language. */
  private record WarmUpCall(LimitPlan plan, Locale language) {}

  /** What a limited request passes. */
  private record Filters(GateFilter gate, LimitedResponseFilter response) {}
}
