import { describe, expect, test } from "bun:test"
import { parseTracingFile } from "./configuration-file.ts"
import { tracingEnvironment } from "./environment.ts"

const ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
const ID = "0af7651916cd43dd8448eb211c80319c"

const SETTINGS = [
  {
    title: "an endpoint for all signals gets the path of traces",
    given: { [ENDPOINT]: "http://collector:4318/" },
    wants: { isOn: true, settings: { protocol: "http/protobuf", endpoint: "http://collector:4318/v1/traces" } },
  },
  {
    title: "an endpoint for traces is used as it is",
    given: { [ENDPOINT]: "http://other", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://collector/traces" },
    wants: { isOn: true, settings: { endpoint: "https://collector/traces" } },
  },
  {
    title: "an exporter without an endpoint uses a collector on this machine",
    given: { OTEL_TRACES_EXPORTER: "otlp" },
    wants: { isOn: true, settings: { endpoint: "http://localhost:4318/v1/traces" } },
  },
  {
    title: "gRPC has its own default port",
    given: { OTEL_TRACES_EXPORTER: "otlp", OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
    wants: { isOn: true, settings: { protocol: "grpc", endpoint: "http://localhost:4317" } },
  },
  { title: "without variables tracing is off", given: {}, wants: { isOn: false } },
  {
    title: "with the exporter none tracing is off",
    given: { [ENDPOINT]: "http://a", OTEL_TRACES_EXPORTER: "none" },
    wants: { isOn: false },
  },
  {
    title: "with OTEL_SDK_DISABLED tracing is off",
    given: { [ENDPOINT]: "http://a", OTEL_SDK_DISABLED: "true" },
    wants: { isOn: false },
  },
  {
    title: "headers and resource attributes are read, and the service name's own variable comes first",
    given: {
      OTEL_EXPORTER_OTLP_HEADERS: "api-key=a%20b,x=1=2",
      OTEL_RESOURCE_ATTRIBUTES: "service.name=other,deployment.environment=test",
      OTEL_SERVICE_NAME: "k3ts",
    },
    wants: {
      settings: {
        headers: { "api-key": "a b", x: "1=2" },
        resource: { "service.name": "k3ts", "deployment.environment": "test" },
      },
    },
  },
  {
    title: "limits are read, and a batch is not larger than the queue",
    given: { OTEL_BSP_MAX_QUEUE_SIZE: "100", OTEL_BSP_SCHEDULE_DELAY: "200", OTEL_EXPORTER_OTLP_TIMEOUT: "3000" },
    wants: { settings: { mostWaiting: 100, mostTogether: 100, delayMs: 200, timeoutMs: 3000 } },
  },
]

const WARNINGS = [
  { title: "an unknown exporter", given: { OTEL_TRACES_EXPORTER: "zipkin" }, wants: "OTEL_TRACES_EXPORTER" },
  { title: "an unknown protocol", given: { OTEL_EXPORTER_OTLP_PROTOCOL: "smtp" }, wants: "PROTOCOL" },
  { title: "an endpoint with another scheme", given: { [ENDPOINT]: "ftp://user:secret@host" }, wants: "ENDPOINT" },
  {
    title: "a number that cannot be parsed",
    given: { OTEL_BSP_MAX_QUEUE_SIZE: "-1" },
    wants: "OTEL_BSP_MAX_QUEUE_SIZE",
  },
  { title: "an unknown sampler", given: { OTEL_TRACES_SAMPLER: "dice" }, wants: "OTEL_TRACES_SAMPLER" },
  { title: "a ratio above one", given: { OTEL_TRACES_SAMPLER_ARG: "2" }, wants: "OTEL_TRACES_SAMPLER_ARG" },
  { title: "headers without a value", given: { OTEL_EXPORTER_OTLP_HEADERS: "secret" }, wants: "HEADERS" },
  { title: "headers with an invalid encoding", given: { OTEL_EXPORTER_OTLP_HEADERS: "a=secret%" }, wants: "HEADERS" },
]

const PARENT = { traceId: ID, spanId: "b7ad6b7169203331", traceFlags: 1 }
const SAMPLERS = [
  { given: {}, root: true, remote: true },
  { given: { OTEL_TRACES_SAMPLER: "always_off" }, root: false, remote: false },
  { given: { OTEL_TRACES_SAMPLER: "always_on" }, root: true, remote: true },
  { given: { OTEL_TRACES_SAMPLER: "parentbased_always_off" }, root: false, remote: true },
  { given: { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" }, root: false, remote: false },
  {
    given: { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" },
    root: false,
    remote: true,
  },
]

describe("the environment variables of OpenTelemetry", () => {
  for (const { title, given, wants } of SETTINGS)
    test(title, () => expect(tracingEnvironment(given)).toMatchObject({ ...wants, warnings: [] }))

  for (const { title, given, wants } of WARNINGS)
    test(`${title} is ignored with a warning that contains no secret`, () => {
      const { warnings } = tracingEnvironment(given)
      expect(warnings).toHaveLength(1)
      expect(warnings[0]).toContain(wants)
      expect(warnings[0]).not.toContain("secret")
    })

  for (const { given, root, remote } of SAMPLERS)
    test(`the sampler is read from ${JSON.stringify(given)}`, () => {
      const { sampler } = tracingEnvironment(given)
      expect([sampler.root(ID), sampler.remote(PARENT)]).toEqual([root, remote])
    })
})

const HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n"

describe("the file of --tracing-config-file", () => {
  test("has a gRPC endpoint and a sampling rate", () => {
    expect(parseTracingFile(`${HEAD}endpoint: localhost:4317\nsamplingRatePerMillion: 1000000\n`)).toMatchObject({
      endpoint: "localhost:4317",
      samplingRatePerMillion: 1_000_000,
    })
  })

  const FAULTS = [
    { title: "a rate above a million", given: "samplingRatePerMillion: 1000001", wants: "samplingRatePerMillion" },
    { title: "an endpoint over HTTP", given: "endpoint: http://localhost:4318", wants: "endpoint: expected host:port" },
    { title: "an unknown field", given: "sampling: 1", wants: "sampling" },
    { title: "another kind of object", given: "kind: AuditPolicy", wants: "" },
  ]
  for (const { title, given, wants } of FAULTS)
    test(`with ${title} is refused`, () => expect(() => parseTracingFile(`${HEAD}${given}\n`)).toThrow(wants))
})
