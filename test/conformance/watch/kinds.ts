import type { Api, Sent } from "./api.ts"

/** The values that writers change and selectors select by. `n` rises with each write of an object. */
export interface State {
  readonly n: number
  /** The label `tier`. */
  readonly tier: string
  /** The value of the kind's selectable field; undefined if only the name can be selected by. */
  readonly color: string | undefined
}

export interface WatchedKind {
  readonly plural: string
  /** `/api/v1` or `/apis/<group>/<version>`. */
  readonly root: string
  readonly apiVersion: string
  readonly kind: string
  /** The kind's selectable field besides the name, with its values; new objects have the first value. */
  readonly field?: { readonly name: string; readonly values: readonly string[] }
  /** Whether its objects are deleted gracefully. */
  readonly graceful?: boolean
  /** The fields of a new object besides its metadata. */
  body(color: string | undefined, namespace: string): object
  /** The merge patch that sets the color, and the subresource that it goes to. */
  paint?(color: string): { readonly patch: object; readonly subresource?: string }
  color(object: Sent): string | undefined
}

const COLORS = ["red", "green", "blue"]
export const GROUP = "watch.k3ts.test"

/** Kinds that differ in how they are stored, selected and deleted. */
export const KINDS: readonly WatchedKind[] = [
  {
    plural: "configmaps",
    root: "/api/v1",
    apiVersion: "v1",
    kind: "ConfigMap",
    body: () => ({ data: { text: "x".repeat(1000) } }),
    color: () => undefined,
  },
  {
    plural: "pods",
    root: "/api/v1",
    apiVersion: "v1",
    kind: "Pod",
    graceful: true,
    field: { name: "status.phase", values: ["Pending", "Running", "Unknown"] },
    body: () => ({ spec: { automountServiceAccountToken: false, containers: [{ name: "c", image: "none" }] } }),
    paint: (phase) => ({ patch: { status: { phase } }, subresource: "/status" }),
    color: (pod) => pod.status?.phase,
  },
  {
    plural: "events",
    root: "/api/v1",
    apiVersion: "v1",
    kind: "Event",
    field: { name: "reason", values: COLORS },
    body: (reason, namespace) => ({
      reason,
      involvedObject: { kind: "Pod", namespace, name: "some" },
      type: "Normal",
      message: "seen",
      source: { component: "test" },
    }),
    paint: (reason) => ({ patch: { reason } }),
    color: (event) => event.reason,
  },
  {
    plural: "lamps",
    root: `/apis/${GROUP}/v1`,
    apiVersion: `${GROUP}/v1`,
    kind: "Lamp",
    field: { name: "spec.color", values: COLORS },
    body: (color) => ({ spec: { color } }),
    paint: (color) => ({ patch: { spec: { color } } }),
    color: (lamp) => lamp.spec?.color,
  },
]

/** Path of a kind's collection, in all namespaces unless one is given, or of one of its objects. */
export const pathOf = ({ root, plural }: WatchedKind, namespace?: string, name?: string): string =>
  `${root}${namespace === undefined ? "" : `/namespaces/${namespace}`}/${plural}${name === undefined ? "" : `/${name}`}`

export const stateOf = (kind: WatchedKind, object: Sent): State => ({
  n: Number(object.metadata.annotations?.["n"]),
  tier: object.metadata.labels?.["tier"] ?? "",
  color: kind.color(object),
})

/** Defines the custom kind, and waits until its objects are served. */
export async function defineLamps(api: Api): Promise<void> {
  const schema = {
    type: "object",
    properties: { spec: { type: "object", properties: { color: { type: "string" } } } },
  }
  await api.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `lamps.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { plural: "lamps", kind: "Lamp" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          selectableFields: [{ jsonPath: ".spec.color" }],
        },
      ],
    },
  })
  while ((await api.send("GET", `/apis/${GROUP}/v1/lamps`).catch(() => ({ code: 404 }))).code !== 200);
}
