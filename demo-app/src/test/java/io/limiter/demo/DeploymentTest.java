// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerPort;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Namespace;
import io.fabric8.kubernetes.api.model.PodTemplateSpec;
import io.fabric8.kubernetes.api.model.Probe;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.ServicePort;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeMount;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/**
 * The files with which two instances are deployed fit Kubernetes' types, each other and the demo.
 * Neither an engine nor a cluster runs them here; {@code .ci/run} has docker-compose, kustomize and
 * promtool read them besides.
 */
class DeploymentTest {

  private static final Path EXAMPLES = Path.of("..", "examples");

  /** By apiVersion and kind: what the manifests may contain. */
  private static final Map<String, Class<? extends HasMetadata>> KINDS =
      Map.of(
          "v1 Namespace", Namespace.class,
          "v1 Service", Service.class,
          "apps/v1 Deployment", Deployment.class,
          "policy/v1 PodDisruptionBudget", PodDisruptionBudget.class);

  /** Kubernetes' types keep fields that they do not know; here these are mistakes. */
  private static final ObjectMapper STRICT =
      JsonMapper.builder()
          .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .annotationIntrospector(
              new JacksonAnnotationIntrospector() {
                @Override
                public Boolean hasAnySetter(Annotated member) {
                  return Boolean.FALSE;
                }
              })
          .build();

  private static final Map<String, Object> COMPOSE = read("compose.yml");
  private static final Map<String, Object> KUSTOMIZATION = read("kustomization.yaml");
  private static final List<HasMetadata> MANIFESTS = manifests();

  @SuppressWarnings("unchecked")
  private static Map<String, Object> read(String file) {
    return (Map<String, Object>) documents(file).get(0);
  }

  private static List<Object> documents(String file) {
    List<Object> documents = new ArrayList<>();
    try {
      new Yaml(new SafeConstructor(new LoaderOptions()))
          .loadAll(Files.readString(EXAMPLES.resolve(file)))
          .forEach(documents::add);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    return documents;
  }

  private static List<HasMetadata> manifests() {
    List<HasMetadata> manifests = new ArrayList<>();
    for (Object file : (List<?>) KUSTOMIZATION.get("resources")) {
      for (Object document : documents(file.toString())) {
        manifests.add(manifest((Map<?, ?>) document));
      }
    }
    return manifests;
  }

  private static HasMetadata manifest(Map<?, ?> document) {
    String kind = document.get("apiVersion") + " " + document.get("kind");
    assertThat(KINDS).containsKey(kind);
    try {
      return STRICT.readValue(STRICT.writeValueAsString(document), KINDS.get(kind));
    } catch (IOException e) {
      throw new AssertionError(kind + ": " + e.getMessage(), e);
    }
  }

  private static <T extends HasMetadata> Map<String, T> all(Class<T> kind) {
    Map<String, T> found = new TreeMap<>();
    MANIFESTS.stream()
        .filter(kind::isInstance)
        .map(kind::cast)
        .forEach(one -> found.put(one.getMetadata().getName(), one));
    return found;
  }

  private static PodTemplateSpec pod(String deployment) {
    return all(Deployment.class).get(deployment).getSpec().getTemplate();
  }

  private static Container container(String deployment) {
    return pod(deployment).getSpec().getContainers().get(0);
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> compose(String service) {
    Map<String, Object> all = (Map<String, Object>) COMPOSE.get("services");
    assertThat(all).containsKey(service);
    return (Map<String, Object>) all.get(service);
  }

  @Test
  void aMisspelledFieldIsFound() {
    Map<String, Object> misspelled =
        Map.of(
            "apiVersion",
            "v1",
            "kind",
            "Service",
            "metadata",
            Map.of("name", "demo"),
            "spec",
            Map.of("selectors", Map.of()));

    assertThatThrownBy(() -> manifest(misspelled))
        .hasMessageContaining("selectors")
        .hasCauseInstanceOf(JsonMappingException.class);
  }

  @Test
  void everyManifestIsNamedInTheKustomization() throws IOException {
    try (Stream<Path> files = Files.list(EXAMPLES.resolve("kubernetes"))) {
      assertThat(files.map(file -> "kubernetes/" + file.getFileName()))
          .containsExactlyInAnyOrderElementsOf(
              ((List<?>) KUSTOMIZATION.get("resources")).stream().map(Object::toString).toList());
    }
    assertThat(all(Deployment.class)).containsOnlyKeys("demo", "redis", "prometheus", "grafana");
  }

  @Test
  void thereAreTwoInstancesOfWhichOneMayBeTakenAway() {
    assertThat(all(Deployment.class).get("demo").getSpec().getReplicas()).isEqualTo(2);
    assertThat(all(PodDisruptionBudget.class).get("demo").getSpec().getMaxUnavailable().getIntVal())
        .isEqualTo(1);
    assertThat(compose("demo-1").get("image")).isEqualTo(compose("demo-2").get("image"));
    assertThat(compose("demo-1").get("ports")).isNotEqualTo(compose("demo-2").get("ports"));
  }

  @Test
  void servicesAndBudgetsFindTheirPods() {
    for (Service service : all(Service.class).values()) {
      List<Deployment> found = selected(service.getSpec().getSelector());
      assertThat(found).as(service.getMetadata().getName()).hasSize(1);
      Set<String> ports = new HashSet<>();
      for (Container each : found.get(0).getSpec().getTemplate().getSpec().getContainers()) {
        each.getPorts().stream().map(ContainerPort::getName).forEach(ports::add);
      }
      for (ServicePort port : service.getSpec().getPorts()) {
        assertThat(ports).contains(port.getTargetPort().getStrVal());
      }
    }
    assertThat(
            selected(
                all(PodDisruptionBudget.class)
                    .get("demo")
                    .getSpec()
                    .getSelector()
                    .getMatchLabels()))
        .hasSize(1);
    for (Deployment deployment : all(Deployment.class).values()) {
      assertThat(selected(deployment.getSpec().getSelector().getMatchLabels()))
          .containsExactly(deployment);
    }
  }

  private static List<Deployment> selected(Map<String, String> labels) {
    return all(Deployment.class).values().stream()
        .filter(
            deployment ->
                deployment
                    .getSpec()
                    .getTemplate()
                    .getMetadata()
                    .getLabels()
                    .entrySet()
                    .containsAll(labels.entrySet()))
        .toList();
  }

  @Test
  void everyMountedVolumeExists() {
    Set<Object> configMaps = new HashSet<>();
    for (Object generated : (List<?>) KUSTOMIZATION.get("configMapGenerator")) {
      Map<?, ?> map = (Map<?, ?>) generated;
      configMaps.add(map.get("name"));
      for (Object file : (List<?>) map.get("files")) {
        String path = file.toString().replaceFirst("^[^=]*=", "");
        assertThat(EXAMPLES.resolve(path)).isRegularFile();
      }
    }
    for (String deployment : all(Deployment.class).keySet()) {
      List<Volume> volumes = pod(deployment).getSpec().getVolumes();
      assertThat(container(deployment).getVolumeMounts())
          .extracting(VolumeMount::getName)
          .containsExactlyInAnyOrderElementsOf(volumes.stream().map(Volume::getName).toList());
      assertThat(
              volumes.stream()
                  .map(Volume::getConfigMap)
                  .filter(Objects::nonNull)
                  .map(map -> (Object) map.getName()))
          .isSubsetOf(configMaps);
    }
    for (String service : List.of("prometheus", "grafana")) {
      for (Object volume : (List<?>) compose(service).get("volumes")) {
        assertThat(EXAMPLES.resolve(volume.toString().split(":")[0])).exists();
      }
    }
    assertThat(EXAMPLES.resolve(compose("demo-1").get("build").toString()).resolve("Dockerfile"))
        .isRegularFile();
  }

  @Test
  void noPodRunsAsRootOrWritesItsImage() {
    for (String deployment : all(Deployment.class).keySet()) {
      assertThat(pod(deployment).getSpec().getSecurityContext().getRunAsNonRoot()).isTrue();
      assertThat(container(deployment).getSecurityContext().getReadOnlyRootFilesystem()).isTrue();
      assertThat(container(deployment).getSecurityContext().getAllowPrivilegeEscalation())
          .isFalse();
      assertThat(container(deployment).getResources().getLimits()).containsKey("memory");
    }
  }

  @Test
  void portImageVariableAndRedisAreThoseOfTheDemo() throws IOException {
    String settings = Files.readString(Path.of("src", "main", "resources", "application.yml"));
    String dockerfile = Files.readString(Path.of("Dockerfile"));
    Container demo = container("demo");
    int port = demo.getPorts().get(0).getContainerPort();

    assertThat(settings).contains("port: ${MICRONAUT_SERVER_PORT:" + port + "}");
    assertThat(dockerfile)
        .contains(
            "EXPOSE " + port + "\n", "target/demo-app.jar", "docker build -t " + demo.getImage())
        .contains("USER " + pod("demo").getSpec().getSecurityContext().getRunAsUser() + ":");
    assertThat(Files.readAllLines(Path.of(".dockerignore"))).contains("!target/demo-app.jar");
    assertThat(compose("demo-1").get("image")).isEqualTo(demo.getImage());
    for (String instance : List.of("demo-1", "demo-2")) {
      assertThat(compose(instance).get("ports").toString()).endsWith(":" + port + "]");
    }

    Map<String, String> variables =
        demo.getEnv().stream().collect(Collectors.toMap(EnvVar::getName, EnvVar::getValue));
    assertThat(compose("demo-1").get("environment")).isEqualTo(variables);
    assertThat(variables).containsOnlyKeys("REDIS_URI");
    URI redis = URI.create(variables.get("REDIS_URI"));
    ServicePort ofRedis = all(Service.class).get(redis.getHost()).getSpec().getPorts().get(0);
    assertThat(ofRedis.getPort()).isEqualTo(redis.getPort());
    assertThat(compose(redis.getHost()).get("image")).isEqualTo(container("redis").getImage());
  }

  @Test
  void prometheusFindsEachInstance() {
    Map<?, ?> scrape =
        (Map<?, ?>) ((List<?>) read("prometheus/prometheus.yml").get("scrape_configs")).get(0);
    Map<?, ?> lookup = (Map<?, ?>) ((List<?>) scrape.get("dns_sd_configs")).get(0);
    String name = ((List<?>) lookup.get("names")).get(0).toString();

    Service instances = all(Service.class).get(name);
    assertThat(instances.getSpec().getClusterIP()).isEqualTo("None");
    assertThat(lookup.get("port"))
        .isEqualTo(instances.getSpec().getPorts().get(0).getPort())
        .isEqualTo(container("demo").getPorts().get(0).getContainerPort());
    for (String instance : List.of("demo-1", "demo-2")) {
      assertThat(compose(instance).get("networks").toString()).contains(name);
    }
    Map<?, ?> source =
        (Map<?, ?>) ((List<?>) read("grafana/datasources.yml").get("datasources")).get(0);
    URI prometheus = URI.create(source.get("url").toString());
    assertThat(compose(prometheus.getHost())).isNotEmpty();
    assertThat(all(Service.class).get(prometheus.getHost()).getSpec().getPorts().get(0).getPort())
        .isEqualTo(prometheus.getPort());
    try (Demo demo = Demo.start()) {
      assertThat(demo.get(scrape.get("metrics_path").toString()).statusCode()).isEqualTo(200);
    }
  }

  /** A probe that fails with Redis would end all instances together. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void noProbeFailsWhileRedisIsAway(boolean killed) {
    EmbeddedRedis redis = EmbeddedRedis.started().orElseThrow();
    try (Demo demo = Demo.with(redis)) {
      assertThat(probes()).hasSize(3).allSatisfy(path -> answers(demo, path));
      if (killed) {
        redis.kill();
      } else {
        redis.stop();
      }
      await()
          .atMost(Duration.ofSeconds(20))
          .untilAsserted(
              () -> assertThat(demo.get("/health").body()).contains("\"answers\":false"));

      assertThat(probes()).allSatisfy(path -> answers(demo, path));
    } finally {
      redis.kill();
    }
  }

  /** Those of Kubernetes, and the health check of each container of the compose file. */
  private static Set<String> probes() {
    Container demo = container("demo");
    List<Probe> probes =
        List.of(demo.getStartupProbe(), demo.getReadinessProbe(), demo.getLivenessProbe());
    Set<String> paths =
        probes.stream().map(probe -> probe.getHttpGet().getPath()).collect(Collectors.toSet());
    List<?> command = (List<?>) ((Map<?, ?>) compose("demo-1").get("healthcheck")).get("test");
    URI check = URI.create(command.get(command.size() - 1).toString());
    assertThat(check.getPort()).isEqualTo(demo.getPorts().get(0).getContainerPort());
    paths.add(check.getPath());
    paths.add("/health");
    return paths;
  }

  private static void answers(Demo demo, String path) {
    HttpResponse<String> answer = demo.get(path);
    assertThat(answer.statusCode()).as("%s: %s", path, answer.body()).isEqualTo(200);
  }
}
