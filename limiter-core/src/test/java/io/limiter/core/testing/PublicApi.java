// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.DataInputStream;
import java.io.IOException;
import java.lang.annotation.Annotation;
import java.lang.annotation.ElementType;
import java.lang.annotation.Target;
import java.lang.reflect.AnnotatedArrayType;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.AnnotatedTypeVariable;
import java.lang.reflect.AnnotatedWildcardType;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The public and protected types and members of a module as text, one line each, sorted. A file of
 * that text is checked in, so that no change of the API goes unnoticed.
 *
 * <p>Left out is what follows from other lines: the constructor and the accessors of a record,
 * {@code values} of an enum, and the methods of {@code Object}. Protected members are listed only
 * where an application can extend the type.
 */
public final class PublicApi {

  private static final Pattern OURS = Pattern.compile("io\\.limiter\\.[\\w.$]+");
  private static final Pattern PACKAGES = Pattern.compile("\\b(?:[a-z][a-z0-9_]*\\.)+(?=[A-Z])");

  private final Predicate<AnnotatedElement> internal;

  /**
   * @param internal selects types and members that are not part of the API; what is nested in such
   *     a type is not either
   */
  public PublicApi(Predicate<AnnotatedElement> internal) {
    this.internal = internal;
  }

  /**
   * Compares the API of compiled classes with a file, or writes the file with {@code
   * -Dlimiter.api=write}. No member of it has a type that is not part of it.
   *
   * @param classes the directory of the compiled classes
   * @param packages selects packages by their names
   * @param file the checked-in list
   * @param module the Maven module, for the message
   */
  public void requireSame(Path classes, Predicate<String> packages, Path file, String module)
      throws IOException {
    String compiled = of(classes, packages);
    if ("write".equals(System.getProperty("limiter.api"))) {
      Files.createDirectories(file.getParent());
      Files.writeString(file, compiled);
    }
    assertThat(file)
        .as(
            """
            The public API is no longer that of %s. If that is intended, write the file again with
            ./mvnw test -pl %s -am -Dsurefire.failIfNoSpecifiedTests=false -Dtest=PublicApiTest -Dlimiter.api=write
            "Missing" and "expecting" is what was compiled, "extra" and "but was" is what the file has.""",
            file.normalize(), module)
        .hasContent(compiled);
    assertThat(withHiddenTypes(classes, packages)).isEmpty();
    for (String name : names(classes)) {
      if (packages.test(name.substring(0, name.lastIndexOf('.')))) {
        Class<?> type = load(name);
        requireReleased(type);
        assertThat(type.getProtectionDomain().getCodeSource().getLocation())
            .as(name)
            .isEqualTo(classes.toUri().toURL());
      }
    }
  }

  /**
   * A class is the one that is released, a class file of Java 17, also where the tests run on
   * Micronaut 5, whose compiler makes others.
   */
  public static void requireReleased(Class<?> type) throws IOException {
    String file = type.getName().substring(type.getPackageName().length() + 1) + ".class";
    try (DataInputStream bytes = new DataInputStream(type.getResourceAsStream(file))) {
      bytes.skipNBytes(6); // what each class file begins with, and the minor version
      assertThat(bytes.readUnsignedShort()).as(type.getName()).isEqualTo(61);
    }
  }

  /** The members of the API with a type of this module that is not part of it. */
  public Set<String> withHiddenTypes(Path classes, Predicate<String> packages) throws IOException {
    Set<String> hidden = new TreeSet<>();
    List<Class<?>> listed = new ArrayList<>();
    for (String name : names(classes)) {
      boolean hides = !packages.test(name.substring(0, name.lastIndexOf('.')));
      if (hides || !isListed(load(name))) {
        hidden.add(name);
      } else {
        listed.add(load(name));
      }
    }
    Set<String> found = new TreeSet<>();
    for (Class<?> type : listed) {
      members(type)
          .filter(member -> !internal.test((AnnotatedElement) member))
          .filter(member -> isVisible(member.getModifiers(), type))
          .filter(member -> types(member).anyMatch(hidden::contains))
          .forEach(member -> found.add(member.toString()));
    }
    return found;
  }

  private static Stream<Member> members(Class<?> type) {
    return Stream.<Member[]>of(
            type.getDeclaredFields(), type.getDeclaredConstructors(), type.getDeclaredMethods())
        .flatMap(Arrays::stream)
        .filter(member -> !member.isSynthetic());
  }

  private static Stream<String> types(Member member) {
    Stream<Type> types =
        member instanceof Field field
            ? Stream.of(field.getGenericType())
            : Stream.of(((Executable) member).getGenericParameterTypes());
    Stream<Type> result =
        member instanceof Method method ? Stream.of(method.getGenericReturnType()) : Stream.empty();
    return Stream.concat(types, result)
        .flatMap(type -> OURS.matcher(type.getTypeName()).results())
        .map(MatchResult::group);
  }

  /** The API of compiled classes, as text. */
  String of(Path classes, Predicate<String> packages) throws IOException {
    StringBuilder text = new StringBuilder();
    String last = "";
    for (String name : names(classes)) {
      if (!packages.test(name.substring(0, name.lastIndexOf('.')))) {
        continue;
      }
      Class<?> type = load(name);
      if (!isListed(type)) {
        continue;
      }
      if (!type.getPackageName().equals(last)) {
        last = type.getPackageName();
        text.append(text.isEmpty() ? "" : "\n").append("package ").append(last).append('\n');
      }
      text.append('\n').append(String.join("\n", lines(type))).append('\n');
    }
    return text.toString();
  }

  /** By package, then by type, so that nested types follow the type around them. */
  private static List<String> names(Path classes) throws IOException {
    try (Stream<Path> files = Files.walk(classes)) {
      return files
          .map(file -> classes.relativize(file).toString())
          .filter(file -> file.endsWith(".class") && file.indexOf('/') > 0)
          .map(file -> file.substring(0, file.length() - ".class".length()).replace('/', '.'))
          // Micronaut's processors write classes beside ours.
          .filter(name -> !name.contains(".$") && !name.contains("$Intercepted"))
          .filter(name -> !name.endsWith("package-info"))
          .sorted()
          .sorted(
              (one, other) ->
                  one.substring(0, one.lastIndexOf('.'))
                      .compareTo(other.substring(0, other.lastIndexOf('.'))))
          .toList();
    }
  }

  private static Class<?> load(String name) {
    try {
      return Class.forName(name, false, PublicApi.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(name + " is compiled, but not on the class path", e);
    }
  }

  private boolean isListed(Class<?> type) {
    if (type.isAnonymousClass() || type.isLocalClass() || type.isSynthetic()) {
      return false;
    }
    for (Class<?> each = type; each != null; each = each.getEnclosingClass()) {
      Class<?> around = each.getEnclosingClass();
      if (!isVisible(each.getModifiers(), around) || internal.test(each)) {
        return false;
      }
    }
    return true;
  }

  /** Whether an application sees it, perhaps in a class that extends the one around it. */
  private static boolean isVisible(int modifiers, @Nullable Class<?> around) {
    return Modifier.isPublic(modifiers)
        || (Modifier.isProtected(modifiers)
            && around != null
            && !Modifier.isFinal(around.getModifiers())
            && !around.isSealed());
  }

  private List<String> lines(Class<?> type) {
    List<String> lines = new ArrayList<>(List.of(header(type)));
    for (Field field : type.getDeclaredFields()) {
      if (field.isEnumConstant()) {
        lines.add("  " + field.getName());
      }
    }
    Set<String> members = new TreeSet<>();
    // What a superclass that is not public declares is a member of this type to an application.
    for (Class<?> each = type; each != null; each = each.getSuperclass()) {
      if (each != type && (isListed(each) || !each.getName().startsWith("io.limiter."))) {
        break;
      }
      add(each, type, members);
    }
    members.forEach(member -> lines.add("  " + member.substring(member.indexOf('\0') + 1)));
    return lines;
  }

  /** Each with what it is sorted by in front. */
  private void add(Class<?> declaring, Class<?> type, Set<String> members) {
    for (Field field : declaring.getDeclaredFields()) {
      if (isListed(field, type) && !field.isEnumConstant()) {
        members.add("0" + field.getName() + '\0' + line(field));
      }
    }
    for (Constructor<?> constructor : type.getDeclaredConstructors()) {
      if (declaring == type && isListed(constructor, type) && !isCanonical(constructor)) {
        members.add("1\0" + prefix(constructor) + type.getSimpleName() + parameters(constructor));
      }
    }
    for (Method method : declaring.getDeclaredMethods()) {
      if (isListed(method, type) && !isImplied(method, type)) {
        members.add("2" + method.getName() + '\0' + line(method));
      }
    }
  }

  private <M extends Member & AnnotatedElement> boolean isListed(M member, Class<?> type) {
    return !member.isSynthetic()
        && isVisible(member.getModifiers(), type)
        && !internal.test(member);
  }

  private static boolean isCanonical(Constructor<?> constructor) {
    Class<?> type = constructor.getDeclaringClass();
    return type.isRecord()
        && Arrays.equals(
            constructor.getParameterTypes(),
            Arrays.stream(type.getRecordComponents())
                .map(RecordComponent::getType)
                .toArray(Class<?>[]::new));
  }

  private static boolean isImplied(Method method, Class<?> type) {
    boolean ofObject =
        Arrays.stream(Object.class.getMethods()).anyMatch(known -> isSame(known, method));
    boolean ofEnum =
        type.isEnum()
            && Modifier.isStatic(method.getModifiers())
            && List.of("values", "valueOf").contains(method.getName());
    boolean accessor =
        type.isRecord()
            && Arrays.stream(type.getRecordComponents())
                .anyMatch(component -> component.getAccessor().equals(method));
    return ofObject || ofEnum || accessor;
  }

  private static boolean isSame(Method one, Method other) {
    return one.getName().equals(other.getName())
        && Arrays.equals(one.getParameterTypes(), other.getParameterTypes());
  }

  private static String header(Class<?> type) {
    String kind =
        type.isAnnotation()
            ? "@interface"
            : type.isInterface()
                ? "interface"
                : type.isEnum() ? "enum" : type.isRecord() ? "record" : "class";
    boolean plain = type.isInterface() || type.isEnum() || type.isRecord();
    int modifiers =
        plain
            ? type.getModifiers() & Modifier.PROTECTED
            : type.getModifiers() & ~Modifier.PUBLIC & ~Modifier.STATIC;
    StringBuilder header = new StringBuilder(spaced(Modifier.toString(modifiers)));
    header.append(type.isSealed() && !type.isEnum() ? "sealed " : "").append(kind).append(' ');
    header.append(named(type)).append(variables(type.getTypeParameters()));
    if (type.isRecord()) {
      header.append(
          Arrays.stream(type.getRecordComponents())
              .map(each -> text(each.getAnnotatedType()) + ' ' + each.getName())
              .collect(Collectors.joining(", ", "(", ")")));
    }
    Class<?> above = type.getSuperclass();
    if (above != null && !Set.of(Object.class, Record.class, Enum.class).contains(above)) {
      header.append(" extends ").append(text(type.getAnnotatedSuperclass()));
    }
    if (type.getInterfaces().length > 0 && !type.isAnnotation()) {
      header
          .append(type.isInterface() ? " extends " : " implements ")
          .append(texts(type.getAnnotatedInterfaces()));
    }
    Target target = type.getAnnotation(Target.class);
    if (target != null) {
      header.append(
          target.value().length == 0
              ? " in other annotations"
              : Arrays.stream(target.value())
                  .map(ElementType::name)
                  .collect(Collectors.joining(", ", " on ", "")));
    }
    return header.toString();
  }

  /** Constants are compiled into an application, so their values belong to the API. */
  private static String line(Field field) {
    boolean constant =
        Modifier.isStatic(field.getModifiers())
            && (field.getType().isPrimitive() || field.getType() == String.class);
    try {
      return prefix(field)
          + text(field.getAnnotatedType())
          + ' '
          + field.getName()
          + (constant ? " = " + value(field.get(null)) : "");
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(field + " is listed, but not accessible", e);
    }
  }

  private static String line(Method method) {
    Object unset = method.getDefaultValue();
    return prefix(method)
        + spaced(variables(method.getTypeParameters()))
        + text(method.getAnnotatedReturnType())
        + ' '
        + method.getName()
        + parameters(method)
        + (unset == null ? "" : " default " + value(unset));
  }

  private static String value(@Nullable Object value) {
    if (value == null) {
      return "null";
    }
    if (value.getClass().isArray()) {
      List<String> each = new ArrayList<>();
      for (int i = 0; i < Array.getLength(value); i++) {
        each.add(value(Array.get(value, i)));
      }
      return "{" + String.join(", ", each) + "}";
    }
    if (value instanceof Class<?> type) {
      return named(type) + ".class";
    }
    if (value instanceof Annotation annotation) {
      return written(annotation);
    }
    return value instanceof String
        ? "\"" + value + "\""
        : PACKAGES.matcher("" + value).replaceAll("");
  }

  /** With the members that are not the defaults, in an order that does not depend on the JDK. */
  private static String written(Annotation annotation) {
    Set<String> members = new TreeSet<>();
    for (Method member : annotation.annotationType().getDeclaredMethods()) {
      try {
        String value = value(member.invoke(annotation));
        if (!value.equals(value(member.getDefaultValue()))) {
          members.add(member.getName() + " = " + value);
        }
      } catch (ReflectiveOperationException e) {
        throw new IllegalStateException(member + " cannot be read", e);
      }
    }
    return "@" + named(annotation.annotationType()) + "(" + String.join(", ", members) + ")";
  }

  private static <M extends Member> String prefix(M member) {
    int modifiers = member.getModifiers() & ~Modifier.PUBLIC;
    boolean inInterface = member.getDeclaringClass().isInterface();
    boolean body = member instanceof Method method && method.isDefault();
    int shown =
        Modifier.STATIC
            | Modifier.PROTECTED
            | (inInterface ? 0 : Modifier.ABSTRACT | Modifier.FINAL);
    // A field that is listed is always final here, and a method of a final class cannot be other.
    int implied =
        member instanceof Method
            ? Modifier.isFinal(member.getDeclaringClass().getModifiers()) ? Modifier.FINAL : 0
            : 0;
    return spaced(Modifier.toString(modifiers & shown & ~implied)) + (body ? "default " : "");
  }

  private static String parameters(Executable executable) {
    List<String> types = new ArrayList<>();
    for (AnnotatedType each : executable.getAnnotatedParameterTypes()) {
      types.add(text(each));
    }
    if (executable.isVarArgs()) {
      String last = types.remove(types.size() - 1);
      types.add(last.substring(0, last.length() - 2) + "...");
    }
    AnnotatedType[] thrown = executable.getAnnotatedExceptionTypes();
    return "("
        + String.join(", ", types)
        + ")"
        + (thrown.length == 0 ? "" : " throws " + texts(thrown));
  }

  private static String variables(TypeVariable<?>[] variables) {
    return variables.length == 0
        ? ""
        : Arrays.stream(variables)
            .map(
                each ->
                    each.getName()
                        + (each.getBounds()[0] == Object.class
                            ? ""
                            : " extends " + texts(each.getAnnotatedBounds()).replace(", ", " & ")))
            .collect(Collectors.joining(", ", "<", ">"));
  }

  private static String texts(AnnotatedType[] types) {
    return Arrays.stream(types).map(PublicApi::text).collect(Collectors.joining(", "));
  }

  private static String text(AnnotatedType type) {
    String nullable = type.isAnnotationPresent(Nullable.class) ? "@Nullable " : "";
    if (type instanceof AnnotatedArrayType array) {
      return text(array.getAnnotatedGenericComponentType())
          + (nullable.isEmpty() ? "" : " " + nullable)
          + "[]";
    }
    if (type instanceof AnnotatedParameterizedType generic) {
      String whole = named(generic.getType());
      return nullable
          + whole.substring(0, whole.indexOf('<'))
          + "<"
          + texts(generic.getAnnotatedActualTypeArguments())
          + ">";
    }
    if (type instanceof AnnotatedWildcardType wildcard) {
      AnnotatedType[] lower = wildcard.getAnnotatedLowerBounds();
      AnnotatedType[] upper = wildcard.getAnnotatedUpperBounds();
      boolean any = upper.length == 0 || upper[0].getType() == Object.class;
      return lower.length > 0 ? "? super " + texts(lower) : any ? "?" : "? extends " + texts(upper);
    }
    return nullable
        + (type instanceof AnnotatedTypeVariable variable
            ? variable.getType().getTypeName()
            : named(type.getType()));
  }

  /** Without packages; a nested type with the type around it. */
  private static String named(Type type) {
    return PACKAGES.matcher(type.getTypeName()).replaceAll("").replace('$', '.');
  }

  private static String spaced(String text) {
    return text.isEmpty() ? "" : text + ' ';
  }
}
