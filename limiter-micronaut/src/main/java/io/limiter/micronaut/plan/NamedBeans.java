// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.definition.PolicyMember.Expressible;
import io.limiter.micronaut.definition.PolicyMember.Sourced;
import io.micronaut.context.BeanContext;
import io.micronaut.context.Qualifier;
import io.micronaut.context.exceptions.NoSuchBeanException;
import io.micronaut.context.exceptions.NonUniqueBeanException;
import io.micronaut.core.annotation.AnnotationClassValue;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.util.SupplierUtil;
import io.micronaut.inject.qualifiers.Qualifiers;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;

/** The beans of the application that definitions name. */
@Internal
public interface NamedBeans {

  /**
   * The bean whose type a member names.
   *
   * @param type what the bean implements
   * @throws io.micronaut.context.exceptions.ConfigurationException if there is no such bean, or if
   *     there are several
   */
  <T> BeanRef<T> ofType(Sourced<AnnotationClassValue<?>> named, Class<T> type);

  /** The bean of a type with a name; empty if there is none. */
  <T> Optional<BeanRef<T>> named(Class<T> type, String name);

  /**
   * The bean of a type whose name a setting has.
   *
   * @param remedy what else would be possible, for the mistake if there is no such bean
   */
  default <T> BeanRef<T> named(Sourced<Expressible> written, Class<T> type, String remedy) {
    String name = written.value().text();
    return named(type, name)
        .orElseThrow(
            () ->
                written
                    .origin()
                    .mistake(
                        "no bean of type %s has this name: annotate one with @Named(\"%s\")%s"
                            .formatted(type.getName(), name, remedy)));
  }

  /**
   * What a member states as an expression over the arguments, or by the name of a bean.
   *
   * @param ofArguments makes it of an expression
   * @param type that of the bean
   * @param remedy as for {@link #named(Sourced, Class, String)}
   * @param ofBean makes it of a bean
   */
  default <T, R> R expressionOrBean(
      Sourced<Expressible> written,
      Function<CallExpression, R> ofArguments,
      Class<T> type,
      String remedy,
      Function<BeanRef<T>, R> ofBean) {
    Optional<CallExpression> expression = written.value().expression();
    return expression.isPresent()
        ? ofArguments.apply(expression.get())
        : ofBean.apply(named(written, type, remedy));
  }

  /**
   * A bean. Two of them are equal if they have one name.
   *
   * @param name as written: its own, or that of its type
   * @param type its type, as named
   * @param isSingleton whether there is one object of it
   * @param object that object, created when it is first needed
   */
  record BeanRef<T>(String name, Class<? extends T> type, boolean isSingleton, Supplier<T> object) {

    @Override
    public boolean equals(Object other) {
      return other instanceof BeanRef<?> that && name.equals(that.name);
    }

    @Override
    public int hashCode() {
      return name.hashCode();
    }

    @Override
    public String toString() {
      return name;
    }
  }

  /** Those of the context. */
  @Singleton
  final class OfContext implements NamedBeans {

    private final BeanContext beans;

    OfContext(BeanContext beans) {
      this.beans = beans;
    }

    @Override
    public <T> BeanRef<T> ofType(Sourced<AnnotationClassValue<?>> named, Class<T> type) {
      Class<? extends T> written =
          named
              .value()
              .getType()
              .filter(type::isAssignableFrom)
              .<Class<? extends T>>map(found -> found.asSubclass(type))
              .orElseThrow(() -> named.origin().mistake("this class cannot be loaded"));
      try {
        return new BeanRef<>(
            written.getName(),
            written,
            beans.getBeanDefinition(written).isSingleton(),
            SupplierUtil.memoized(() -> beans.getBean(written)));
      } catch (NonUniqueBeanException e) {
        throw named.origin().mistake("there are several beans of this type: name the one");
      } catch (NoSuchBeanException e) {
        throw named.origin().mistake("there is no bean of this type: make it a @Singleton");
      }
    }

    @Override
    public <T> Optional<BeanRef<T>> named(Class<T> type, String name) {
      Qualifier<T> qualifier = Qualifiers.byName(name);
      return beans
          .findBeanDefinition(type, qualifier)
          .map(
              bean ->
                  new BeanRef<>(
                      name,
                      bean.getBeanType(),
                      bean.isSingleton(),
                      SupplierUtil.memoized(() -> beans.getBean(type, qualifier))));
    }
  }
}
