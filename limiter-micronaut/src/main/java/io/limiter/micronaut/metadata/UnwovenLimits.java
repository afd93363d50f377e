// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.annotation.Limited;
import io.limiter.micronaut.annotation.NoRateLimit;
import io.limiter.micronaut.plan.PlanRegistry;
import io.micronaut.aop.Intercepted;
import io.micronaut.context.BeanContext;
import io.micronaut.context.BeanRegistration;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.http.annotation.Controller;
import io.micronaut.inject.AdvisedBeanType;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.BeanDefinitionReference;
import io.micronaut.inject.ProxyBeanDefinition;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Singleton;
import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.security.CodeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Warns, once after the start, of limits in the class of a bean that have no effect, since the
 * compiler has not woven them: Micronaut does not weave beans of {@code @Factory} methods, static
 * methods, methods of companion objects, and methods that the Kotlin compiler hides from annotation
 * processors.
 *
 * <p>The class of a bean whose factory declares only an interface is found if the bean is a
 * singleton that has been created.
 *
 * <p>It inspects the classes of beans on its own thread, so that the start does not wait for it. It
 * skips classes of Micronaut, the JDK and the limiter.
 */
@Singleton
final class UnwovenLimits implements ApplicationEventListener<StartupEvent> {

  private static final Logger LOG = LoggerFactory.getLogger(UnwovenLimits.class);

  private static final List<String> FOREIGN =
      List.of("io.micronaut.", "java.", "javax.", "jakarta.", "io.netty.", "reactor.");

  private static final String OURS = "io.limiter.";

  /**
   * The character that Kotlin writes between a function's name and the hash of its value classes.
   */
  private static final char HIDDEN = '-';

  private static final String OF_FACTORY =
      "a limit on a factory limits how often it makes beans, and not their methods: put it on the factory's methods";

  private static final String NONE_PUBLIC =
      "the limit of its factory's method applies to public methods, and it has none: make them public";

  /** Leaves the processor to the first requests. */
  private static final Duration DELAY = Duration.ofSeconds(3);

  private final BeanContext beans;
  private final Thread thread = new Thread(this::warn, "limiter-start-check");

  UnwovenLimits(BeanContext beans) {
    this.beans = beans;
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    thread.setDaemon(true);
    thread.start();
  }

  /** A closed context is not checked: it would stay in memory meanwhile. */
  @PreDestroy
  void stop() {
    thread.interrupt();
  }

  private void warn() {
    try {
      Thread.sleep(DELAY.toMillis());
      List<String> unwoven = find();
      if (!unwoven.isEmpty()) {
        LOG.warn(
            "Limits without effect, since the compiler has not woven them: {} ({})",
            unwoven.size(),
            PlanRegistry.listed(unwoven));
      }
    } catch (InterruptedException | RuntimeException e) { // the context was closed, for example
      LOG.debug("The beans were not checked for limits that are not woven", e);
    }
  }

  /** The limits without effect, each with its place, the reason and the remedy. */
  List<String> find() {
    List<BeanDefinition<?>> loaded = new ArrayList<>();
    Set<Class<?>> behindProxies = new HashSet<>();
    for (BeanDefinitionReference<?> reference : beans.getBeanDefinitionReferences()) {
      if (!isForeign(reference.getBeanDefinitionName()) // to load all of them takes long
          && !isOurs(reference.getClass())
          && !Thread.currentThread().isInterrupted()) {
        BeanDefinition<?> bean = load(reference);
        if (bean != null) {
          loaded.add(bean);
        }
        if (bean instanceof ProxyBeanDefinition<?> proxy) {
          behindProxies.add(proxy.getTargetDefinitionType());
        }
      }
    }
    Set<String> findings = new TreeSet<>();
    for (BeanDefinition<?> bean : loaded) {
      if (Thread.currentThread().isInterrupted()) {
        return List.of();
      }
      if (!behindProxies.contains(bean.getClass())) {
        Class<?> type =
            bean instanceof AdvisedBeanType<?> advised
                ? advised.getInterceptedType()
                : bean.getBeanType();
        look(bean, type, findings);
      }
    }
    // A factory may declare a type, and make a bean of a class that only the bean itself shows.
    for (BeanRegistration<Object> made : beans.getActiveBeanRegistrations(Object.class)) {
      BeanDefinition<Object> bean = made.getBeanDefinition();
      Class<?> type = made.getBean().getClass();
      if (type != bean.getBeanType()
          && isMadeByFactory(bean)
          && !isWoven(bean)
          && !(made.getBean() instanceof Intercepted)
          && !behindProxies.contains(bean.getClass())) {
        look(bean, type, findings);
      }
    }
    return List.copyOf(findings);
  }

  private @Nullable BeanDefinition<?> load(BeanDefinitionReference<?> reference) {
    try {
      BeanDefinition<?> bean = reference.isPresent() ? reference.load(beans) : null;
      return bean != null && bean.isEnabled(beans) ? bean : null;
    } catch (LinkageError e) {
      LOG.trace("{} refers to missing classes", reference, e);
      return null;
    }
  }

  private static boolean isForeign(String type) {
    return FOREIGN.stream().anyMatch(type::startsWith);
  }

  /** Of the same jar, unless that has all classes of the application, too. */
  private static boolean isOurs(Class<?> type) {
    CodeSource jar = type.getProtectionDomain().getCodeSource();
    CodeSource own = UnwovenLimits.class.getProtectionDomain().getCodeSource();
    return type.getName().startsWith(OURS)
        && jar != null
        && own != null
        && Objects.equals(jar.getLocation(), own.getLocation());
  }

  private void look(BeanDefinition<?> bean, Class<?> type, Set<String> findings) {
    try {
      if (!isForeign(type.getName()) && !isOurs(type)) {
        look(bean, type, isWoven(bean), findings);
      }
    } catch (LinkageError e) {
      LOG.trace("{} refers to missing classes", type, e);
    }
  }

  private static boolean isWoven(BeanDefinition<?> bean) {
    return bean instanceof AdvisedBeanType<?> || bean instanceof ProxyBeanDefinition<?>;
  }

  private void look(BeanDefinition<?> bean, Class<?> type, boolean woven, Set<String> findings) {
    if (type.isAnnotationPresent(Factory.class)) {
      if (isLimited(type)) {
        findings.add(type.getName() + " (" + OF_FACTORY + ")");
      }
      return;
    }
    Set<String> limited = new HashSet<>();
    if (woven) {
      addLimited(bean, limited);
      if (bean instanceof ProxyBeanDefinition<?>) {
        beans.findProxyTargetBeanDefinition(bean).ifPresent(target -> addLimited(target, limited));
      }
    }
    if (woven && limited.isEmpty() && isLimitedByFactory(bean, type)) {
      findings.add(type.getName() + " (" + NONE_PUBLIC + ")");
    }
    if (!woven && isLimited(type)) {
      findings.add(type.getName() + " (" + reason(bean, null) + ")");
    }
    boolean whole = woven && !bean.hasStereotype(Controller.class) && isLimitedAsAWhole(type);
    Set<String> exempt = new HashSet<>();
    for (Class<?> declaring : hierarchy(type)) {
      for (Method method : declaring.getDeclaredMethods()) {
        String signature = signature(method.getName(), method.getParameterTypes());
        if (method.isAnnotationPresent(NoRateLimit.class)) {
          exempt.add(signature);
        }
        boolean own = declaring == type || !woven;
        if (!method.isSynthetic()
            && (isLimited(method) ? own || isHidden(method) : whole && isLeftOut(type, method))
            && !exempt.contains(signature)
            && !limited.contains(signature)) {
          findings.add(place(declaring, method, reason(bean, method)));
        }
      }
    }
    companion(type)
        .flatMap(companion -> Arrays.stream(companion.getDeclaredMethods()))
        .filter(method -> !method.isSynthetic() && isLimited(method))
        .forEach(method -> findings.add(place(type, method, AnnotationReader.ON_STATIC)));
  }

  /** The name as in Kotlin: without the hash and the name of the companion object. */
  private static String place(Class<?> declaring, Method method, String reason) {
    String name = method.getName();
    int hash = name.indexOf(HIDDEN);
    return "%s.%s (%s)"
        .formatted(declaring.getName(), hash < 0 ? name : name.substring(0, hash), reason);
  }

  /** Whether Kotlin gave the method a name that is invalid in Java, so that kapt leaves it out. */
  private static boolean isHidden(Method method) {
    return method.getName().indexOf(HIDDEN) >= 0;
  }

  /** Whether the limit of its class does not apply to a method. */
  private static boolean isLeftOut(Class<?> type, Method method) {
    boolean isMember =
        !Modifier.isStatic(method.getModifiers()) && !Modifier.isPrivate(method.getModifiers());
    return (isHidden(method) && isMember) || (type.isInterface() && method.isDefault());
  }

  /** Limits on controllers apply to routes, and a hidden method is not a route. */
  private static boolean isLimitedAsAWhole(Class<?> type) {
    return !type.isAnnotationPresent(NoRateLimit.class)
        && hierarchy(type).stream().anyMatch(UnwovenLimits::isLimited);
  }

  /** The class of Kotlin's companion object: a nested class in a static field of its own name. */
  private static Stream<Class<?>> companion(Class<?> type) {
    return Arrays.stream(type.getDeclaredFields())
        .filter(field -> Modifier.isStatic(field.getModifiers()))
        .filter(field -> field.getType().getEnclosingClass() == type)
        .filter(field -> field.getType().getSimpleName().equals(field.getName()))
        .map(Field::getType);
  }

  private static void addLimited(BeanDefinition<?> bean, Set<String> limited) {
    bean.getExecutableMethods().stream()
        .filter(method -> method.hasStereotype(Limited.class))
        .map(method -> signature(method.getMethodName(), method.getArgumentTypes()))
        .forEach(limited::add);
  }

  private static String signature(String name, Class<?>[] parameters) {
    return Arrays.stream(parameters)
        .map(Class::getName)
        .collect(Collectors.joining(",", name + "(", ")"));
  }

  /** The type, what it extends, and what it implements. */
  static Set<Class<?>> hierarchy(Class<?> type) {
    Set<Class<?>> all = new LinkedHashSet<>();
    for (Class<?> one = type; one != null && one != Object.class; one = one.getSuperclass()) {
      all.add(one);
      for (Class<?> implemented : one.getInterfaces()) {
        all.addAll(hierarchy(implemented));
      }
    }
    return all;
  }

  private static boolean isLimited(AnnotatedElement element) {
    return isLimited(element, new HashSet<>());
  }

  private static boolean isLimited(
      AnnotatedElement element, Set<Class<? extends Annotation>> seen) {
    for (Annotation annotation : element.getDeclaredAnnotations()) {
      Class<? extends Annotation> type = annotation.annotationType();
      if (type == Limited.class
          || (seen.add(type) && !isForeign(type.getName()) && isLimited(type, seen))) {
        return true;
      }
    }
    return false;
  }

  /** The limits of a factory's method are annotations of the bean, and not of its class. */
  private static boolean isLimitedByFactory(BeanDefinition<?> bean, Class<?> type) {
    return bean.hasStereotype(Limited.class)
        && hierarchy(type).stream().noneMatch(UnwovenLimits::isLimited);
  }

  private static boolean isMadeByFactory(BeanDefinition<?> bean) {
    return bean.getDeclaringType().filter(type -> type != bean.getBeanType()).isPresent();
  }

  private static String reason(BeanDefinition<?> bean, @Nullable Method method) {
    if (method != null && Modifier.isStatic(method.getModifiers())) {
      return AnnotationReader.ON_STATIC;
    }
    if (method != null && isHidden(method)) {
      return "kapt hides methods with a value class or a Result in their signature from Micronaut: write the plain type";
    }
    if (method != null && AnnotatedPlace.isOfLifecycle(method)) {
      return AnnotatedPlace.NOT_WOVEN;
    }
    if (isMadeByFactory(bean)) {
      Class<?> factory = bean.getDeclaringType().orElseThrow();
      return "the bean is made by %s: put the limits on the factory's method, or make the class itself a bean"
          .formatted(factory.getName());
    }
    if (method != null && method.isDefault()) {
      return "a limit on an interface does not apply to its default methods: put a limit on the method";
    }
    return "it is not woven: of a factory's bean only public methods are limited";
  }
}
