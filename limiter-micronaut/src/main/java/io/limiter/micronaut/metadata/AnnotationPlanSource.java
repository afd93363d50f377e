// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.Verdict;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.definition.HeadArguments;
import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.PolicyDefinition;
import io.limiter.micronaut.definition.ResultKind;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.plan.MethodPlanner;
import io.limiter.micronaut.plan.NamedBeans;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.plan.RuleReader;
import io.limiter.micronaut.plan.SubjectReader;
import io.limiter.micronaut.plan.VerdictParameter;
import io.limiter.micronaut.subject.SubmissionDigest;
import io.limiter.micronaut.subject.WritableTypes;
import io.micronaut.aop.Adapter;
import io.micronaut.context.BeanContext;
import io.micronaut.core.annotation.AnnotationMetadata;
import io.micronaut.core.bind.annotation.Bindable;
import io.micronaut.core.type.Argument;
import io.micronaut.core.util.SupplierUtil;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpParameters;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.HttpMethodMapping;
import io.micronaut.http.annotation.RequestAttribute;
import io.micronaut.http.bind.binders.AnnotatedRequestArgumentBinder;
import io.micronaut.http.bind.binders.NonBlockingBodyArgumentBinder;
import io.micronaut.http.bind.binders.TypedRequestArgumentBinder;
import io.micronaut.http.cookie.Cookie;
import io.micronaut.http.cookie.Cookies;
import io.micronaut.inject.ExecutableMethod;
import jakarta.inject.Singleton;
import java.lang.annotation.Annotation;
import java.security.Principal;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the limits of the methods of beans, and rejects invalid ones. */
@Singleton
final class AnnotationPlanSource implements PlanRegistry.Source {

  private static final Logger LOG = LoggerFactory.getLogger(AnnotationPlanSource.class);

  /** Types of arguments that Micronaut derives from a request or that this limiter passes. */
  private static final List<Class<?>> PROVIDED =
      List.of(
          HttpRequest.class,
          HttpHeaders.class,
          HttpParameters.class,
          Cookies.class,
          Cookie.class,
          Principal.class,
          Verdict.class);

  /** Further such types, by name, since few services have them. */
  private static final List<String> PROVIDED_NAMES =
      List.of(LimitedMethod.CONTINUATION, "io.micronaut.websocket.WebSocketSession");

  private static final String HTTP_ANNOTATIONS = Body.class.getPackageName();

  private final BeanContext beans;
  private final MethodPlanner.PlanningBeans parts;

  /** Read from the binders' definitions: it would be too early to create the binders here. */
  private final Supplier<List<Argument<?>>> typesOfBinders;

  AnnotationPlanSource(
      BeanContext beans,
      NamedBeans named,
      LimiterConfiguration configuration,
      GateConfiguration gate,
      DenialMessages messages) {
    this.beans = beans;
    this.parts =
        new MethodPlanner.PlanningBeans(
            new RuleReader(named, configuration),
            new SubjectReader(named, configuration),
            named,
            gate,
            messages::requireUsable,
            new LongAdder());
    typesOfBinders = SupplierUtil.memoized(() -> typesOfBinders(beans));
  }

  @Override
  public List<String> limits(ExecutableMethod<?, ?> method) {
    return AnnotatedPlace.LIMITS.stream()
        .map(type -> AnnotatedPlace.asWritten(AnnotatedPlace.present(method, type).toArray()))
        .toList();
  }

  @Override
  public MethodPlanner.PlanningBeans parts() {
    return parts;
  }

  @Override
  public LimitedMethod method(ExecutableMethod<?, ?> method, Class<?> bean) {
    return new BeanMethod(this, method, bean, describe(method, bean));
  }

  @Override
  public List<List<PolicyDefinition>> policies(LimitedMethod method) {
    if (((BeanMethod) method).isAdapter()) {
      return List.of();
    }
    List<List<PolicyDefinition>> read = AnnotationReader.read(method, UnaryOperator.identity());
    if (read.isEmpty() && AnnotatedPlace.isUnmarked(method)) {
      LOG.warn(
          "{} is marked as limited, but has no limit, so its calls are not limited: use one of {}",
          method.description(),
          AnnotatedPlace.LIMITS.stream()
              .map(limit -> "@" + limit.getSimpleName())
              .collect(Collectors.joining(", ")));
    }
    return read;
  }

  /** The types that a binder provides without an annotation, except the body. */
  @SuppressWarnings("rawtypes") // raw, as the bean type
  private static List<Argument<?>> typesOfBinders(BeanContext beans) {
    return beans.getBeanDefinitions(TypedRequestArgumentBinder.class).stream()
        .filter(
            binder -> !NonBlockingBodyArgumentBinder.class.isAssignableFrom(binder.getBeanType()))
        .filter(
            binder -> !AnnotatedRequestArgumentBinder.class.isAssignableFrom(binder.getBeanType()))
        .flatMap(binder -> binder.getTypeArguments(TypedRequestArgumentBinder.class).stream())
        .<Argument<?>>map(bound -> bound)
        .toList();
  }

  private static String describe(ExecutableMethod<?, ?> method, Class<?> bean) {
    return Arrays.stream(method.getArgumentTypes())
        .map(Class::getTypeName)
        .collect(Collectors.joining(",", bean.getName() + "." + method.getMethodName() + "(", ")"));
  }

  /** A method of a bean, as it is at the start. */
  private record BeanMethod(
      AnnotationPlanSource source, ExecutableMethod<?, ?> method, Class<?> bean, String description)
      implements LimitedMethod {

    /**
     * Whether it is of a bean that Micronaut makes to call a listener. In Micronaut 5 such beans
     * have the limits of the listener and its class, which hold where they call.
     */
    boolean isAdapter() {
      return bean.isInterface() && method.hasAnnotation(Adapter.class);
    }

    @Override
    public String name() {
      return method.getMethodName();
    }

    @Override
    public boolean isOf(String type) {
      return UnwovenLimits.hierarchy(bean).stream().anyMatch(each -> each.getName().equals(type));
    }

    @Override
    public AnnotationMetadata annotations() {
      return method.getAnnotationMetadata();
    }

    @Override
    public boolean isOfObject() {
      List<Class<?>> parameters = List.of(method.getArgumentTypes());
      return switch (method.getMethodName()) {
        case "toString", "hashCode" -> parameters.isEmpty();
        case "equals" -> parameters.equals(List.of(Object.class));
        default -> false;
      };
    }

    @Override
    public boolean isRoute() {
      return method.hasStereotype(HttpMethodMapping.class);
    }

    @Override
    public ResultKind result() {
      return ResultKind.of(resultType(), method.getAnnotationMetadata());
    }

    @Override
    public ResultKind.Type resultType() {
      return new ResultKind.OfArgument(method.getReturnType().asArgument());
    }

    @Override
    public boolean takesVerdict() {
      return VerdictParameter.takeVerdict(method.getArguments());
    }

    @Override
    public Optional<Set<Integer>> head(String expression) {
      return HeadArguments.of(method, expression);
    }

    @Override
    public Optional<List<Parameter>> parameters() {
      return Optional.of(
          Arrays.stream(method.getArguments())
              .<Parameter>map(argument -> new BeanParameter(source, method, argument))
              .toList());
    }
  }

  /** A parameter of such a method. */
  private record BeanParameter(
      AnnotationPlanSource source, ExecutableMethod<?, ?> method, Argument<?> argument)
      implements LimitedMethod.Parameter {

    @Override
    public String name() {
      return argument.getName();
    }

    @Override
    public boolean isFilled() {
      Class<?> type = argument.getType();
      if (PROVIDED.stream().anyMatch(provided -> provided.isAssignableFrom(type))
          || PROVIDED_NAMES.contains(type.getName())) {
        return false;
      }
      if (!method.hasStereotype(HttpMethodMapping.class)) {
        return true;
      }
      Optional<Class<? extends Annotation>> bound =
          argument.getAnnotationMetadata().getAnnotationTypeByStereotype(Bindable.class);
      return bound.isPresent()
          ? bound.get() != RequestAttribute.class
              && bound.get().getPackageName().equals(HTTP_ANNOTATIONS)
          : source.typesOfBinders.get().stream()
              .noneMatch(
                  provided ->
                      provided.equalsType(argument)
                          || provided.equalsType(Argument.of(argument.getType())));
    }

    @Override
    public LimitedMethod.Value value() {
      Set<Class<?>> types = UnwovenLimits.hierarchy(argument.getType());
      return LimitedMethod.Value.of(
          argument.getType().isArray(),
          name -> types.stream().anyMatch(type -> type.getName().equals(name)));
    }

    @Override
    public boolean isCompared() {
      return !VerdictParameter.takesVerdict(argument)
          && !argument.getType().getName().equals(LimitedMethod.CONTINUATION);
    }

    @Override
    public Optional<String> obstacle() {
      return SubmissionDigest.indigestiblePart(argument)
          .or(
              () ->
                  source
                      .beans
                      .findBean(WritableTypes.class)
                      .flatMap(types -> types.unwritablePart(argument)));
    }
  }
}
