import { BASES } from "../validation/bases.ts"
import type { Base, Json } from "../validation/base.ts"

/** The schema of a custom kind that only these exchanges define, with keywords of every type. */
const schema = {
  type: "object",
  required: ["spec"],
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer", format: "int32", minimum: 0, maximum: 9, default: 1, multipleOf: 1 },
        ratio: { type: "number", exclusiveMinimum: true, minimum: 0.5, nullable: true, example: { a: [1, "2", null] } },
        names: {
          type: "array",
          items: { type: "string", pattern: "^a+$" },
          maxItems: 3,
          "x-kubernetes-list-type": "set",
        },
        any: { "x-kubernetes-preserve-unknown-fields": true, type: "object" },
        port: { "x-kubernetes-int-or-string": true, enum: [1, "one"] },
        extra: { type: "object", additionalProperties: { type: "string" }, minProperties: 0 },
      },
      "x-kubernetes-validations": [
        { rule: "self.size < 9", message: "too large", reason: "FieldValueForbidden", fieldPath: ".size" },
        { rule: "self.size >= oldSelf.size()", messageExpression: "'shrunk'", optionalOldSelf: false },
      ].slice(0, 1),
    },
    status: { type: "object", properties: { replicas: { type: "integer" }, selector: { type: "string" } } },
  },
}

const webhook: Json = {
  name: "hook.example.com",
  clientConfig: { service: { namespace: "n", name: "s", path: "/p", port: 8443 } },
  rules: [
    {
      operations: ["CREATE", "DELETE"],
      apiGroups: ["protobuf.example.com"],
      apiVersions: ["v1"],
      resources: ["nothing/*"],
      scope: "Namespaced",
    },
  ],
  failurePolicy: "Ignore",
  matchPolicy: "Exact",
  namespaceSelector: { matchExpressions: [{ key: "a", operator: "In", values: ["b"] }] },
  objectSelector: { matchLabels: { c: "d" } },
  sideEffects: "NoneOnDryRun",
  timeoutSeconds: 3,
  admissionReviewVersions: ["v1", "v1beta1"],
  matchConditions: [{ name: "m", expression: "request.name != 'x'" }],
}

const constraints = {
  resourceRules: [
    {
      operations: ["CREATE"],
      apiGroups: ["protobuf.example.com"],
      apiVersions: ["v1"],
      resources: ["nothing"],
      resourceNames: ["a"],
    },
  ],
  excludeResourceRules: [
    { operations: ["CREATE"], apiGroups: ["protobuf.example.com"], apiVersions: ["v1"], resources: ["none"] },
  ],
  matchPolicy: "Exact",
}
const shared = {
  paramKind: { apiVersion: "v1", kind: "ConfigMap" },
  matchConstraints: constraints,
  matchConditions: [{ name: "m", expression: "true" }],
  variables: [{ name: "v", expression: "1 + 1" }],
  failurePolicy: "Ignore",
}
const binding = {
  policyName: "protobuf-none",
  paramRef: { namespace: "differential", selector: { matchLabels: { a: "b" } }, parameterNotFoundAction: "Allow" },
  matchResources: constraints,
}

/** The kinds that extend a cluster; `validation/bases.ts` has none of them. */
const EXTENSION_BASES: readonly Base[] = [
  {
    kind: "apiextensions.k8s.io/v1 CustomResourceDefinition",
    name: "whole",
    body: {
      spec: {
        group: "protobuf.example.com",
        names: { plural: "widgets", kind: "Widget", shortNames: ["wd"], categories: ["all"] },
        scope: "Namespaced",
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: schema },
            subresources: {
              status: {},
              scale: {
                specReplicasPath: ".spec.size",
                statusReplicasPath: ".status.replicas",
                labelSelectorPath: ".status.selector",
              },
            },
            additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size", priority: 1 }],
            selectableFields: [{ jsonPath: ".spec.size" }],
          },
          {
            name: "v1beta1",
            served: false,
            storage: false,
            deprecated: true,
            deprecationWarning: "old",
            schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
          },
        ],
        conversion: { strategy: "None" },
      },
    },
    nameOf: () => "widgets.protobuf.example.com",
    // The time at which a definition becomes Established is random.
    volatile: ["status", "conditions", "acceptedNames", "storedVersions", "observedGeneration"],
    unversioned: true,
  },
  {
    kind: "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
    name: "whole",
    body: {
      webhooks: [webhook, { ...webhook, name: "url.example.com", clientConfig: { url: "https://127.0.0.1:1/a" } }],
    },
  },
  {
    kind: "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration",
    name: "whole",
    body: { webhooks: [{ ...webhook, reinvocationPolicy: "IfNeeded" }] },
  },
  {
    kind: "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
    name: "whole",
    body: {
      spec: {
        ...shared,
        validations: [
          { expression: "variables.v == 2", messageExpression: "'no'", reason: "Forbidden", message: "no" },
        ],
        auditAnnotations: [{ key: "k", valueExpression: "'v'" }],
      },
    },
  },
  {
    kind: "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding",
    name: "whole",
    body: { spec: { ...binding, validationActions: ["Warn", "Audit"] } },
  },
  {
    kind: "admissionregistration.k8s.io/v1 MutatingAdmissionPolicy",
    name: "whole",
    body: {
      spec: {
        ...shared,
        mutations: [
          { patchType: "ApplyConfiguration", applyConfiguration: { expression: "Object{}" } },
          { patchType: "JSONPatch", jsonPatch: { expression: "[JSONPatch{op: 'remove', path: '/a'}]" } },
        ],
        reinvocationPolicy: "IfNeeded",
      },
    },
  },
  {
    kind: "admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding",
    name: "whole",
    body: { spec: binding },
  },
  {
    kind: "apiregistration.k8s.io/v1 APIService",
    name: "whole",
    body: {
      spec: {
        group: "protobuf-extension.example.com",
        version: "v1",
        service: { namespace: "differential", name: "none", port: 444 },
        insecureSkipTLSVerify: true,
        groupPriorityMinimum: 1000,
        versionPriority: 15,
      },
    },
    nameOf: () => "v1.protobuf-extension.example.com",
    volatile: ["status"],
    unversioned: true,
  },
]

/** The administrators of two servers have different names. */
const withoutUser = (base: Base): Base =>
  base.kind === "certificates.k8s.io/v1 CertificateSigningRequest"
    ? { ...base, volatile: [...(base.volatile ?? []), "username", "uid", "groups", "extra"] }
    : base

/** OpenShift's builds of the server add a ConfigMap of their own to the volume of a pod's token. */
function withoutToken(base: Base): Base {
  if (base.kind !== "v1 Pod") return base
  const spec = { ...(base.body["spec"] as object), automountServiceAccountToken: false }
  return { ...base, body: { ...base.body, spec } }
}

/** An object of each stored kind, and for large kinds one object for each of their parts. */
export const ALL_BASES: readonly Base[] = [...BASES.map(withoutToken).map(withoutUser), ...EXTENSION_BASES]

export const nameOf = ({ kind, name }: Base): string => `${kind} ${name}`
