/** A request that a case sends. */
export interface Sent {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE"
  readonly path: string
  readonly body?: unknown
}

/** One comparison: a server's answer to a request, while the policies of this case are in force. */
export interface PolicyCase {
  readonly title: string
  readonly setup: readonly Sent[]
  /** Sent when the policies of all cases are in force. The answer to the last one is compared. */
  readonly requests: readonly Sent[]
}

export const NAMESPACE = "policies"
const GROUP = "/apis/admissionregistration.k8s.io/v1"
const REGISTRATION = "admissionregistration.k8s.io/v1"

/** The label of the objects that match the policies of a case. */
const LABEL = "policy-case"

interface Subject {
  readonly kind: string
  readonly apiVersion: string
  readonly resource: string
  readonly fields: Readonly<Record<string, unknown>>
}
export const CONFIG_MAP: Subject = {
  kind: "ConfigMap",
  apiVersion: "v1",
  resource: "configmaps",
  fields: { data: { a: "1" } },
}
export const POD: Subject = {
  kind: "Pod",
  apiVersion: "v1",
  resource: "pods",
  fields: {
    spec: {
      automountServiceAccountToken: false,
      containers: [{ name: "main", image: "web", ports: [{ containerPort: 80 }] }],
      tolerations: [{ key: "own", operator: "Exists" }],
    },
  },
}
export const DEPLOYMENT: Subject = {
  kind: "Deployment",
  apiVersion: "apps/v1",
  resource: "deployments",
  fields: {
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "main", image: "web", env: [{ name: "A", value: "1" }] }] },
      },
    },
  },
}
export const GADGET: Subject = {
  kind: "Gadget",
  apiVersion: "policies.example.com/v1",
  resource: "gadgets",
  fields: { spec: { size: 1, tags: ["a"], parts: [{ name: "x", count: 1 }], free: { any: [1] }, fixed: { a: 1 } } },
}

/** The definition of Gadget. */
export const DEFINITION: Sent = {
  method: "POST",
  path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  body: {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "gadgets.policies.example.com" },
    spec: {
      group: "policies.example.com",
      names: { kind: "Gadget", plural: "gadgets" },
      scope: "Namespaced",
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec: {
                  type: "object",
                  properties: {
                    size: { type: "integer", minimum: 0 },
                    color: { type: "string", default: "grey" },
                    tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
                    list: { type: "array", items: { type: "string" } },
                    parts: {
                      type: "array",
                      "x-kubernetes-list-type": "map",
                      "x-kubernetes-list-map-keys": ["name"],
                      items: {
                        type: "object",
                        required: ["name"],
                        properties: { name: { type: "string" }, count: { type: "integer" } },
                      },
                    },
                    labels: { type: "object", additionalProperties: { type: "string" } },
                    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
                    fixed: {
                      type: "object",
                      "x-kubernetes-map-type": "atomic",
                      properties: { a: { type: "integer" }, b: { type: "integer" } },
                    },
                    share: { "x-kubernetes-int-or-string": true },
                    maybe: { type: "string", nullable: true },
                  },
                },
              },
            },
          },
        },
      ],
    },
  },
}

const collection = ({ apiVersion, resource }: Subject): string =>
  `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}/namespaces/${NAMESPACE}/${resource}`

const ruleFor = ({ apiVersion, resource }: Subject, operations: readonly string[]) => {
  const [version, group = ""] = apiVersion.split("/").toReversed()
  return { operations, apiGroups: [group], apiVersions: [version], resources: [resource] }
}

let count = 0
const nextId = (): string => `case-${(count++).toString().padStart(3, "0")}`

export interface Options {
  /** The kind of the object that is created; ConfigMap by default. */
  readonly on?: Subject
  /** Fields of the object, instead of those of the subject. */
  readonly fields?: Readonly<Record<string, unknown>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly binding?: Readonly<Record<string, unknown>>
  /** ConfigMaps with parameters: their data by name. */
  readonly params?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly operations?: readonly string[]
  /** The requests that follow the creation of the object. */
  readonly after?: "DELETE" | "PUT" | "dry run"
}

/** The requests that make a policy, its binding and its parameters. */
function inForce(id: string, kind: string, plural: string, spec: object, options: Options): readonly Sent[] {
  const { on = CONFIG_MAP, binding = {}, params = {}, operations = ["CREATE", "UPDATE"] } = options
  const metadata = { name: id }
  const matchConstraints = {
    objectSelector: { matchLabels: { [LABEL]: id } },
    resourceRules: [ruleFor(on, operations)],
  }
  return [
    ...Object.entries(params).map(([name, data]): Sent => {
      const labels = { [`params-${id}`]: "yes" }
      return {
        method: "POST",
        path: collection(CONFIG_MAP),
        body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${id}-${name}`, labels }, data },
      }
    }),
    {
      method: "POST",
      path: `${GROUP}/${plural}`,
      body: { apiVersion: REGISTRATION, kind, metadata, spec: { matchConstraints, ...spec } },
    },
    {
      method: "POST",
      path: `${GROUP}/${plural.replace(/ies$/, "y")}bindings`,
      body: { apiVersion: REGISTRATION, kind: `${kind}Binding`, metadata, spec: { policyName: id, ...binding } },
    },
  ]
}

function requestsOn(id: string, options: Options): readonly Sent[] {
  const { on = CONFIG_MAP, fields = on.fields, annotations, after } = options
  const path = collection(on)
  const metadata = { name: id, labels: { [LABEL]: id }, ...(annotations === undefined ? {} : { annotations }) }
  const body = { apiVersion: on.apiVersion, kind: on.kind, metadata, ...fields }
  if (after === "dry run") return [{ method: "POST", path: `${path}?dryRun=All`, body }]
  const create: Sent = { method: "POST", path, body }
  if (after === undefined) return [create]
  return [create, { method: after, path: `${path}/${id}`, ...(after === "PUT" ? { body } : {}) }]
}

/** The placeholder for the name of a case's parameters in its binding: `$id-limits`. */
const withId = (value: object, id: string): object => JSON.parse(JSON.stringify(value).replaceAll("$id", id)) as object

/** Returns a case with a mutating policy. */
export function mutating(title: string, spec: Readonly<Record<string, unknown>>, options: Options = {}): PolicyCase {
  const id = nextId()
  const { binding = {} } = options
  const whole = { reinvocationPolicy: "Never", ...spec }
  return {
    title,
    setup: inForce(id, "MutatingAdmissionPolicy", "mutatingadmissionpolicies", whole, {
      ...options,
      binding: withId(binding, id) as Readonly<Record<string, unknown>>,
    }),
    requests: requestsOn(id, options),
  }
}
export const apply = (expression: string, options: Options = {}): PolicyCase =>
  mutating(`apply ${expression} on ${(options.on ?? CONFIG_MAP).kind}`, { mutations: [applying(expression)] }, options)
export const patch = (expression: string, options: Options = {}): PolicyCase =>
  mutating(`patch ${expression} on ${(options.on ?? CONFIG_MAP).kind}`, { mutations: [patching(expression)] }, options)
export const applying = (expression: string) => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression },
})
export const patching = (expression: string) => ({ patchType: "JSONPatch", jsonPatch: { expression } })

/** Returns a case with a validating policy. */
export function validating(title: string, spec: Readonly<Record<string, unknown>>, options: Options = {}): PolicyCase {
  const id = nextId()
  const { binding = {} } = options
  return {
    title,
    setup: inForce(id, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", spec, {
      ...options,
      binding: { validationActions: ["Deny"], ...withId(binding, id) },
    }),
    requests: requestsOn(id, options),
  }
}

type Kind = "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicy"
const PLURALS: Readonly<Record<Kind, string>> = {
  MutatingAdmissionPolicy: "mutatingadmissionpolicies",
  MutatingAdmissionPolicyBinding: "mutatingadmissionpolicybindings",
  ValidatingAdmissionPolicy: "validatingadmissionpolicies",
}

/** Returns a case that only creates an object: the server accepts it with its defaults, or refuses it. */
export const declared = (title: string, kind: Kind, spec: object): PolicyCase => ({
  title: `${kind}: ${title}`,
  setup: [],
  requests: [
    {
      method: "POST",
      path: `${GROUP}/${PLURALS[kind]}?dryRun=All`,
      body: { apiVersion: REGISTRATION, kind, metadata: { name: "declared" }, spec },
    },
  ],
})
