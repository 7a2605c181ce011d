import { describe, expect, test } from "bun:test"
import { Buffer } from "node:buffer"
import { decodeObject } from "../apimachinery/decoding/decode.ts"
import { decodeProtobuf, encodeProtobuf, openEnvelope } from "../apimachinery/protobuf/envelope.ts"
import type { Resource } from "../apimachinery/resource.ts"
import { createScheme } from "./scheme.ts"
import { RESOURCES, SUBRESOURCE_KINDS } from "./resources.ts"

const scheme = createScheme(RESOURCES, SUBRESOURCE_KINDS)

/** Bodies that kubectl 1.33 sent for the commands beside them, and the objects in them. */
const SENT: readonly [command: string, base64: string, wanted: object][] = [
  [
    "create deployment web --image=nginx:1 --replicas=0 --port=80",
    "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50EsEBCiYKA3dlYhIAGgdkZWZhdWx0IgAqADIAOABCAFoKCgNhcHASA3dlYhKIAQgAEgwKCgoDYXBwEgN3ZWIabgocCgASABoAIgAqADIAOABCAFoKCgNhcHASA3dlYhJOEjAKBW5naW54EgduZ2lueDoxKgAyCgoAEAAYUCIAKgBCAGoAcgCAAQCIAQCQAQCiAQAaADIAQgBKAFIAWABgAGgAggEAigEAmgEAwgEAIgIKACgAOAAaDAgAEAAYACAAKAA4ABoAIgA=",
    {
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: { containers: [{ name: "nginx", image: "nginx:1", ports: [{ containerPort: 80 }] }] },
        },
      },
      metadata: { name: "web", namespace: "default", labels: { app: "web" } },
    },
  ],
  [
    "create cronjob cj --image=b --schedule='* * * * *'",
    "azhzAAoTCghiYXRjaC92MRIHQ3JvbkpvYhKcAQoZCgJjahIAGgdkZWZhdWx0IgAqADIAOABCABJ9CgkqICogKiAqICoaACpuChIKAmNqEgAaACIAKgAyADgAQgASWDJWChAKABIAGgAiACoAMgA4AEIAEkISGwoCY2oSAWIqAEIAagByAIABAIgBAJABAKIBABoJT25GYWlsdXJlMgBCAEoAUgBYAGAAaACCAQCKAQCaAQDCAQAaABoAIgA=",
    {
      metadata: { name: "cj", namespace: "default" },
      spec: {
        schedule: "* * * * *",
        jobTemplate: {
          metadata: { name: "cj" },
          spec: { template: { spec: { restartPolicy: "OnFailure", containers: [{ name: "cj", image: "b" }] } } },
        },
      },
    },
  ],
  [
    "create service clusterip svc --tcp=80:8080",
    "azhzAAoNCgJ2MRIHU2VydmljZRJwCiYKA3N2YxIAGgdkZWZhdWx0IgAqADIAOABCAFoKCgNhcHASA3N2YxJCChsKBzgwLTgwODASA1RDUBhQIgcIABCQPxoAKAASCgoDYXBwEgNzdmMaACIJQ2x1c3RlcklQOgBCAFIAWgBgAGgAGgIKABoAIgA=",
    {
      metadata: { name: "svc", namespace: "default", labels: { app: "svc" } },
      spec: {
        type: "ClusterIP",
        selector: { app: "svc" },
        ports: [{ name: "80-8080", protocol: "TCP", port: 80, targetPort: 8080 }],
      },
    },
  ],
  [
    "create token default --duration=10m",
    "azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBIdChAKABIAGgAiACoAMgA4AEIAEgMg2AQaBAoAEgAaACIA",
    { spec: { expirationSeconds: 600 } },
  ],
  [
    "create quota q --hard=cpu=1,memory=1Gi",
    "azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRI7ChgKAXESABoHZGVmYXVsdCIAKgAyADgAQgASHQoKCgNjcHUSAwoBMQoPCgZtZW1vcnkSBQoDMUdpGgAaACIA",
    { metadata: { name: "q", namespace: "default" }, spec: { hard: { cpu: "1", memory: "1Gi" } } },
  ],
  [
    "create poddisruptionbudget pdb --selector=a=b --min-available=50%",
    "azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSPwoaCgNwZGISABoHZGVmYXVsdCIAKgAyADgAQgASFQoJCAEQABoDNTAlEggKBgoBYRIBYhoKCAAYACAAKAAwABoAIgA=",
    {
      metadata: { name: "pdb", namespace: "default" },
      spec: { minAvailable: "50%", selector: { matchLabels: { a: "b" } } },
    },
  ],
]

describe("the protobuf form of built-in kinds", () => {
  test.each(SENT)("decodes the body of `kubectl %s` to what its YAML says", (_command, base64, wanted) => {
    // given what kubectl sent
    const { apiVersion, kind, raw } = openEnvelope(Buffer.from(base64, "base64"))
    const resource = scheme.of(apiVersion, kind)!
    // when it is decoded, then it is the object that the same in JSON makes
    const { object, faults } = decodeObject(resource, { apiVersion, kind, ...decodeProtobuf(resource.schema, raw) })
    expect(faults).toEqual([])
    expect(object).toEqual(decodeObject(resource, wanted).object)
  })

  const kinds = scheme.resources.map((resource): [string, Resource] => [
    `${resource.kind} ${resource.apiVersion}`,
    resource,
  ])
  test.each(kinds)("encodes and decodes an object with every field set: %s", (_name, resource) => {
    const { object } = decodeObject(resource, { metadata: { name: "a" }, ...filled(resource.schema, 4) })
    const { raw } = openEnvelope(encodeProtobuf(resource.schema, object, resource))
    expect(decodeObject(resource, decodeProtobuf(resource.schema, raw)).object).toEqual(object)
  })
})

/** A value for every field, some levels deep. */
function filled(message: Resource["schema"], depth: number): Record<string, unknown> {
  const valueOf = (
    type: Resource["schema"]["fields"][string]["spec"]["type"],
    allowed?: readonly string[],
  ): unknown => {
    switch (type.kind) {
      case "message":
        return depth === 0 ? {} : filled(type.message(), depth - 1)
      case "list":
        return [valueOf(type.of, allowed)]
      case "map":
        return { "example.com/key": valueOf(type.of) }
      case "string":
        return allowed?.[0] ?? "text"
      case "bool":
        return true
      case "int32":
      case "int64":
        return 7
      case "double":
        return 1.5
      case "bytes":
        return "aGk="
      case "quantity":
        return "3"
      case "intOrString":
        return "25%"
      case "time":
        return "2026-01-02T03:04:05Z"
      case "microTime":
        return "2026-01-02T03:04:05.000006Z"
      case "duration":
        return "1m30s"
      case "json":
      case "rawExtension":
        return { kind: "Any" }
      case "fieldsV1":
        return { "f:spec": {} }
    }
  }
  // Fields without a number are not on the wire.
  return Object.fromEntries(
    Object.entries(message.fields)
      .filter(([, { spec }]) => spec.number > 0)
      .map(([name, { spec }]) => [name, valueOf(spec.type, spec.enum)]),
  )
}
