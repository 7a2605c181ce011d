import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { pathsOf } from "../../../../pkg/apimachinery/patch/apply/fieldset.ts"
import { startHttpServer } from "../../serving/http-server.fixtures.ts"
import type { WebhookCaller } from "../../webhooks/webhook-caller.ts"
import type { ConversionReview } from "../../webhooks/review.ts"

/**
 * Field managers that write an object in different versions of its kind. The expected values are the responses of a
 * kube-apiserver 1.36.2 to the same requests.
 */
const GROUP = "managers.example.com"
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
const DEFINITION = `${DEFINITIONS}/hosts.${GROUP}`

type Spec = Readonly<Record<string, string>>

/** In v1 a host has `hostPort`, in v2 `host` and `port`. */
const caller: WebhookCaller = {
  call(_config, review) {
    const { apiVersion, request } = review as ConversionReview
    const toV2 = request.desiredAPIVersion.endsWith("/v2")
    const convertedObjects = request.objects.map((object) => {
      const { spec } = object as unknown as { readonly spec?: Spec }
      return {
        ...object,
        apiVersion: request.desiredAPIVersion,
        ...(spec && { spec: toV2 ? split(spec) : joined(spec) }),
      }
    })
    return Promise.resolve({
      apiVersion,
      kind: "ConversionReview",
      response: { uid: request.uid, result: { status: "Success" }, convertedObjects },
    })
  },
}
const split = ({ hostPort, ...rest }: Spec): Spec => {
  const [host = "", port = ""] = hostPort?.split(":") ?? []
  return hostPort === undefined ? rest : { ...rest, host, port }
}
const joined = ({ host, port, ...rest }: Spec): Spec =>
  host === undefined && port === undefined ? rest : { ...rest, hostPort: `${host ?? ""}:${port ?? ""}` }

const text = { type: "string" }
const version = (name: string, fields: object, more: object) => ({
  name,
  served: true,
  storage: false,
  ...more,
  subresources: { status: {} },
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: { type: "object", properties: { note: text, ...fields } },
        status: { type: "object", properties: { s: text } },
      },
    },
  },
})
const v1 = (more: object = {}) => version("v1", { hostPort: text }, more)
const v2 = (more: object = {}) => version("v2", { host: text, port: text }, more)
const BY_WEBHOOK = {
  strategy: "Webhook",
  webhook: { conversionReviewVersions: ["v1"], clientConfig: { url: "https://webhook.example/convert" } },
}

let server: Awaited<ReturnType<typeof startHttpServer>>
beforeAll(async () => {
  server = await startHttpServer({ webhooks: () => caller })
})
afterAll(() => server.stop())

const send = (method: string, path: string, body: object, type = "application/json") =>
  server.call(method, path, { headers: { "content-type": type }, body: JSON.stringify(body) })

async function define(conversion: object, versions: readonly object[]): Promise<void> {
  await server.call("DELETE", DEFINITION)
  const names = { plural: "hosts", kind: "Host" }
  const made = await send("POST", DEFINITIONS, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `hosts.${GROUP}` },
    spec: { group: GROUP, names, scope: "Namespaced", versions, conversion },
  })
  expect(made.code).toBe(201)
}

async function redefine(versions: readonly object[]): Promise<void> {
  const changed = await send("PATCH", DEFINITION, { spec: { versions } }, "application/merge-patch+json")
  expect(changed.code).toBe(200)
}

interface Entry {
  readonly manager: string
  readonly operation: string
  readonly apiVersion: string
  readonly subresource?: string
  readonly fieldsV1: object
}

/** One write: who, how (`apply`, `force` or `merge`), in which version; with what. */
type Write = readonly [how: string, spec: object, subresource?: string]

/** Returns the field managers after a write, or the code and message of its refusal. */
async function told(
  [how, spec, subresource]: Write,
  path: (version: string) => string,
  base: object,
): Promise<string[]> {
  const [by = "", verb = "", of = ""] = how.split(" ")
  const query = `?fieldManager=${by}${verb === "force" ? "&force=true" : ""}`
  const to = `${path(of)}${subresource === undefined ? "" : `/${subresource}`}${query}`
  const [group] = path(of).slice("/apis/".length).split("/")
  const answer =
    verb === "merge"
      ? await send("PATCH", to, { [subresource ?? "spec"]: spec }, "application/merge-patch+json")
      : await send("PATCH", to, { apiVersion: `${group}/${of}`, ...base, spec }, "application/apply-patch+yaml")
  const { message, metadata } = JSON.parse(answer.text) as {
    readonly message: string
    readonly metadata: { readonly managedFields?: readonly Entry[] }
  }
  if (answer.code >= 300) return [`${answer.code} ${message}`]
  return (metadata.managedFields ?? [])
    .map(({ manager, operation, apiVersion, subresource: sub = "", fieldsV1 }) =>
      [manager, operation, apiVersion.split("/")[1], sub, ...pathsOf(fieldsV1 as never)]
        .filter((word) => word !== "")
        .join(" "),
    )
    .sort()
}

const hosts = (name: string) => (of: string) => `/apis/${GROUP}/${of}/namespaces/default/hosts/${name}`
const ofHost = (name: string) => ({ kind: "Host", metadata: { name } })

async function play(name: string, steps: readonly (readonly [Write, readonly string[]])[]): Promise<void> {
  for (const [write, wants] of steps)
    expect([write[0], ...(await told(write, hosts(name), ofHost(name)))]).toEqual([write[0], ...wants])
}

describe("managers of several versions of a custom resource", () => {
  test("conflict over fields that a webhook converts, and a forced apply takes such fields from managers of another version", async () => {
    await define(BY_WEBHOOK, [v1({ storage: true }), v2()])
    const conflict = '409 Apply failed with 1 conflict: conflict with "a": .spec.hostPort'
    await play("one", [
      [["a apply v1", { hostPort: "h:1", note: "n" }], ["a Apply v1 .spec.hostPort .spec.note"]],
      [["b apply v2", { host: "h", port: "2" }], [conflict]],
      [
        ["b apply v2", { host: "h", port: "1" }],
        ["a Apply v1 .spec.hostPort .spec.note", "b Apply v2 .spec.host .spec.port"],
      ],
      [
        ["b force v2", { host: "h", port: "2" }],
        ["a Apply v1 .spec.note", "b Apply v2 .spec.host .spec.port"],
      ],
      // what b applied in v2 and does not name in v1 goes
      [
        ["b apply v1", { note: "n" }],
        ["a Apply v1 .spec.note", "b Apply v1 .spec.note"],
      ],
      [
        ["a apply v2", { note: "n" }],
        ["a Apply v2 .spec.note", "b Apply v1 .spec.note"],
      ],
      [
        ["c merge v2", { host: "h", port: "3" }],
        ["a Apply v2 .spec.note", "b Apply v1 .spec.note", "c Update v2 .spec.host .spec.port"],
      ],
      [
        ["d merge v1", { hostPort: "h:4" }],
        ["a Apply v2 .spec.note", "b Apply v1 .spec.note", "c Update v2 .spec.host", "d Update v1 .spec.hostPort"],
      ],
      [
        ["c merge v2", { host: "g" }],
        ["a Apply v2 .spec.note", "b Apply v1 .spec.note", "c Update v2 .spec.host"],
      ],
      [
        ["e merge v1", { s: "x" }, "status"],
        [
          "a Apply v2 .spec.note",
          "b Apply v1 .spec.note",
          "c Update v2 .spec.host",
          "e Update v1 status .status .status.s",
        ],
      ],
    ])
    const { spec } = JSON.parse((await server.call("GET", hosts("one")("v1"))).text) as { readonly spec: object }
    expect(spec).toEqual({ hostPort: "g:4", note: "n" })
  })

  test("keep the fields that another manager applied in another version", async () => {
    await define(BY_WEBHOOK, [v1({ storage: true }), v2()])
    await play("two", [
      [["a apply v2", { host: "h", port: "1", note: "n" }], ["a Apply v2 .spec.host .spec.note .spec.port"]],
      [
        ["b apply v1", { hostPort: "h:1" }],
        ["a Apply v2 .spec.host .spec.note .spec.port", "b Apply v1 .spec.hostPort"],
      ],
      [
        ["a apply v1", {}],
        ["a Apply v1 .spec", "b Apply v1 .spec.hostPort"],
      ],
    ])
    const { spec } = JSON.parse((await server.call("GET", hosts("two")("v1"))).text) as { readonly spec: object }
    expect(spec).toEqual({ hostPort: "h:1" })
  })

  test("are kept while their version is only not served, and dropped when it is removed from the definition", async () => {
    await define(BY_WEBHOOK, [v1({ storage: true }), v2()])
    await send("POST", hosts("")("v1").slice(0, -1) + "?fieldManager=m", {
      apiVersion: `${GROUP}/v1`,
      ...ofHost("three"),
      spec: { hostPort: "h:1", note: "n" },
    })
    await play("three", [
      [
        ["a apply v2", { note: "m" }],
        ['409 Apply failed with 1 conflict: conflict with "m" using managers.example.com/v1: .spec.note'],
      ],
      [
        ["a force v2", { note: "m" }],
        ["a Apply v2 .spec.note", "m Update v1 .spec .spec.hostPort"],
      ],
    ])
    await redefine([v1({ storage: true, served: false }), v2()])
    await play("three", [
      [
        ["a apply v2", { note: "k" }],
        ["a Apply v2 .spec.note", "m Update v1 .spec .spec.hostPort"],
      ],
      [
        ["c merge v2", { note: "l" }],
        ["c Update v2 .spec.note", "m Update v1 .spec .spec.hostPort"],
      ],
    ])
    await redefine([v1({ served: false }), v2({ storage: true })])
    await play("three", [
      [
        ["c merge v2", { note: "m" }],
        ["c Update v2 .spec.note", "m Update v1 .spec .spec.hostPort"],
      ],
    ])
    await send("PATCH", `${DEFINITION}/status`, { status: { storedVersions: ["v2"] } }, "application/merge-patch+json")
    await redefine([v2({ storage: true })])
    await play("three", [
      [["c merge v2", { note: "z" }], []],
      [
        ["a apply v2", { note: "y" }],
        [
          '409 Apply failed with 1 conflict: conflict with "before-first-apply" using managers.example.com/v2: .spec.note',
        ],
      ],
    ])
  })

  test("are refused an apply whose fields the other version does not have, if nothing converts between the versions", async () => {
    await define({ strategy: "None" }, [v1({ storage: true }), v2()])
    await play("four", [
      [["a apply v1", { note: "n" }], ["a Apply v1 .spec.note"]],
      [["b apply v2", { host: "h" }], ["500 failed to convert new object: .spec.host: field not declared in schema"]],
      [
        ["b apply v2", { note: "n" }],
        ["a Apply v1 .spec.note", "b Apply v2 .spec.note"],
      ],
      // An update goes on without managers.
      [["c merge v2", { host: "h" }], []],
    ])
  })
})

test("managers of several versions of a built-in kind lose a field that another version writes under another name", async () => {
  const path = (of: string) => `/apis/autoscaling/${of}/namespaces/default/horizontalpodautoscalers/h`
  const base = { kind: "HorizontalPodAutoscaler", metadata: { name: "h" } }
  const target = { scaleTargetRef: { kind: "D", name: "d", apiVersion: "apps/v1" }, maxReplicas: 5 }
  const metrics = [
    { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } },
  ]
  const ref = ".spec.scaleTargetRef.apiVersion .spec.scaleTargetRef.kind .spec.scaleTargetRef.name"
  const steps: readonly (readonly [Write, readonly string[]])[] = [
    [
      ["a apply v1", { ...target, targetCPUUtilizationPercentage: 50 }],
      ["a Apply v1 .spec.maxReplicas .spec.scaleTargetRef .spec.targetCPUUtilizationPercentage"],
    ],
    [
      ["b apply v2", { ...target, metrics }],
      ['409 Apply failed with 1 conflict: conflict with "a": .spec.targetCPUUtilizationPercentage'],
    ],
    [
      ["b force v2", { ...target, metrics }],
      ["a Apply v1 .spec.maxReplicas .spec.scaleTargetRef", `b Apply v2 .spec.maxReplicas .spec.metrics ${ref}`],
    ],
    [
      ["c merge v1", { targetCPUUtilizationPercentage: 70 }],
      [
        "a Apply v1 .spec.maxReplicas .spec.scaleTargetRef",
        `b Apply v2 .spec.maxReplicas ${ref}`,
        "c Update v1 .spec.targetCPUUtilizationPercentage",
      ],
    ],
  ]
  for (const [write, wants] of steps)
    expect([write[0], ...(await told(write, path, base))]).toEqual([write[0], ...wants])
})

test.each([
  ["a custom resource whose versions nothing converts", { strategy: "None" }, hosts("five"), GROUP],
  ["a custom resource whose versions a webhook converts", BY_WEBHOOK, hosts("six"), GROUP],
  [
    "a built-in kind",
    undefined,
    (of: string) => `/apis/autoscaling/${of}/namespaces/default/horizontalpodautoscalers/six`,
    "autoscaling",
  ],
])(
  "a manager of %s that names no metadata in another version loses what it owned there",
  async (_, conversion, path, group) => {
    // given a manager that owns a label and an annotation, and another label
    if (conversion !== undefined) await define(conversion, [v1({ storage: true }), v2()])
    const kind = conversion === undefined ? "HorizontalPodAutoscaler" : "Host"
    const name = path("").split("/").at(-1)
    const spec =
      conversion === undefined
        ? { scaleTargetRef: { kind: "D", name: "d", apiVersion: "apps/v1" }, maxReplicas: 5 }
        : { note: "n" }
    const apply = async (by: string, of: string, metadata: object) => {
      const body = { apiVersion: `${group}/${of}`, kind, metadata: { name, ...metadata }, spec }
      const answer = await send("PATCH", `${path(of)}?fieldManager=${by}`, body, "application/apply-patch+yaml")
      const applied = JSON.parse(answer.text) as { readonly metadata: { readonly labels?: object } }
      return { code: answer.code, metadata: applied.metadata }
    }
    expect((await apply("a", "v1", { labels: { mine: "1" }, annotations: { mine: "1" } })).code).toBe(201)
    expect((await apply("b", "v1", { labels: { other: "1" } })).code).toBe(200)
    // when it applies in the other version, with the name alone
    const { code, metadata } = await apply("a", "v2", {})
    // then only what it owned is gone
    expect([code, metadata.labels]).toEqual([200, { other: "1" }])
    expect(metadata).not.toHaveProperty("annotations")
    // when the last one does the same
    const last = await apply("b", "v2", {})
    // then
    expect(last.code).toBe(200)
    expect(last.metadata).not.toHaveProperty("labels")
  },
)
