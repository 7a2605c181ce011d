import { describe, expect, test } from "bun:test"
import { RESOURCES } from "../../../pkg/api/resources.ts"
import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { trackUpdate } from "../../../pkg/apimachinery/patch/apply/track.ts"
import { CLUSTER_ROLE_BINDINGS } from "./bootstrap-cluster-bindings.ts"
import { CLUSTER_ROLES } from "./bootstrap-cluster-roles.ts"
import { CONTROLLER_ROLES } from "./bootstrap-controller-roles.ts"
import { ROLE_BINDINGS, ROLES } from "./bootstrap-namespace-roles.ts"
import { rbacObjects } from "./bootstrap-rbac.ts"
import { HeldRights } from "./coverage.ts"
import { ruleAllowsKind } from "./rules.ts"

const AGGREGATED = ["view", "edit", "admin"] as const
const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"]

/** Returns the rules of an aggregated role: those of all roles that carry its label, and those that they aggregate. */
function rulesOf(name: string): readonly PolicyRule[] {
  const { rules, aggregates = [] } = CLUSTER_ROLES.find((role) => role.name === name)!
  const parts = CLUSTER_ROLES.filter(({ labels = {} }) =>
    aggregates.some((wanted) => Object.entries(wanted).every(([key, value]) => labels[key] === value)),
  )
  return [...rules, ...parts.flatMap((part) => rulesOf(part.name))]
}
/** Namespaced kinds on which a role gives a verb. */
const kindsFor = (role: string, verb: string): readonly string[] =>
  RESOURCES.filter(
    ({ scope, group, plural }) =>
      scope === "Namespaced" && rulesOf(role).some((rule) => ruleAllowsKind(rule, { verb, group, resource: plural })),
  ).map(({ plural }) => plural)
const namespaced = RESOURCES.filter(({ scope }) => scope === "Namespaced").map(({ plural }) => plural)
const without = (...left: readonly string[]): readonly string[] => namespaced.filter((plural) => !left.includes(plural))

describe("the roles for people", () => {
  test("allow more from view to edit to admin, and cluster-admin allows everything", () => {
    for (const [narrow, wide] of [
      ["view", "edit"],
      ["edit", "admin"],
      ["admin", "cluster-admin"],
    ] as const)
      expect(new HeldRights(rulesOf(wide)).lackedOf(rulesOf(narrow))).toBeUndefined()
  })

  test("show what runs in a namespace, but no Secrets and nothing else that would give more rights", () => {
    const noOnesToRead = ["podtemplates", "csistoragecapacities", "localsubjectaccessreviews"]
    expect(kindsFor("view", "get")).toEqual(without(...noOnesToRead, "secrets", "roles", "rolebindings", "leases"))
    expect(kindsFor("edit", "get")).toEqual(without(...noOnesToRead, "roles", "rolebindings"))
    expect(kindsFor("admin", "get")).toEqual(without(...noOnesToRead))
    expect(VERBS.slice(3).flatMap((verb) => kindsFor("view", verb))).toEqual([])
  })

  test("allow an editor to write workloads, but no quotas, limits, roles or bindings", () => {
    const systems = [
      "bindings",
      "endpoints",
      "endpointslices",
      "controllerrevisions",
      "limitranges",
      "resourcequotas",
      "podtemplates",
      "csistoragecapacities",
      "localsubjectaccessreviews",
    ]
    for (const verb of ["create", "update", "patch", "delete", "deletecollection"])
      expect(kindsFor("edit", verb)).toEqual(without(...systems, "roles", "rolebindings"))
    expect(kindsFor("admin", "create")).toEqual(
      without(...systems.filter((plural) => plural !== "localsubjectaccessreviews")),
    )
  })

  test("that are bound in one namespace give no rights on cluster-scoped kinds, except on that namespace", () => {
    const clusterWide = RESOURCES.filter(({ scope }) => scope === "Cluster")
    for (const role of AGGREGATED)
      expect(
        clusterWide
          .filter(({ group, plural }) =>
            VERBS.some((verb) => rulesOf(role).some((rule) => ruleAllowsKind(rule, { verb, group, resource: plural }))),
          )
          .map(({ plural }) => plural),
      ).toEqual(["namespaces"])
  })
})

describe("bindings", () => {
  test("name only roles that exist, and only system:masters gets all rights", () => {
    const clusterRoles = CLUSTER_ROLES.map(({ name }) => name)
    expect(CLUSTER_ROLE_BINDINGS.filter(({ role }) => !clusterRoles.includes(role))).toEqual([])
    expect(
      ROLE_BINDINGS.filter(
        ({ namespace, role }) => !ROLES.some((known) => known.namespace === namespace && known.name === role),
      ),
    ).toEqual([])
    expect(
      CLUSTER_ROLE_BINDINGS.filter(({ role }) =>
        rulesOf(role).some(({ verbs, resources }) => verbs.includes("*") && resources?.includes("*")),
      ),
    ).toEqual([{ role: "cluster-admin", groups: ["system:masters"] }])
  })

  test("give anonymous users only health and version", () => {
    const open = CLUSTER_ROLE_BINDINGS.filter(({ groups = [] }) => groups.includes("system:unauthenticated"))
    expect(open.flatMap(({ role }) => rulesOf(role))).toEqual([
      { verbs: ["get"], nonResourceURLs: ["/livez", "/readyz", "/healthz", "/version", "/version/"] },
    ])
  })
})

test("only controllers that handle every kind have rights on every kind", () => {
  const onAll = Object.entries(CONTROLLER_ROLES).filter(([, rules]) =>
    rules.some(({ resources }) => resources?.includes("*") === true),
  )
  expect(onAll.map(([name]) => name)).toEqual([
    "generic-garbage-collector",
    "horizontal-pod-autoscaler",
    "namespace-controller",
    "resourcequota-controller",
  ])
})

test("every kind in a role that we serve is named with its own API group", () => {
  const groups = new Map<string, string[]>()
  for (const { plural, group } of RESOURCES) groups.set(plural, [...(groups.get(plural) ?? []), group])
  const elsewhere = ["extensions", "metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io", "*"]
  const rules = [
    ...Object.values(CONTROLLER_ROLES).flat(),
    ...CLUSTER_ROLES.flatMap((role) => role.rules),
    ...ROLES.flatMap((role) => role.rules),
  ]
  const misplaced = rules.flatMap(({ apiGroups = [], resources = [] }) =>
    apiGroups.flatMap((group) =>
      resources.filter((resource) => {
        const known = groups.get(resource.split("/")[0]!)
        return known !== undefined && !elsewhere.includes(group) && !known.includes(group)
      }),
    ),
  )
  expect(misplaced).toEqual([])
})

describe("the roles and bindings that every server writes", () => {
  const all = rbacObjects()

  test("are as decoding them would give them, in the same order", () => {
    for (const { resource, object } of all)
      expect(JSON.stringify(object)).toBe(JSON.stringify(decodeObject(resource, object).object))
  })

  test("have the same managed fields where they have the same form", () => {
    const fieldsOf = ({ resource, object }: (typeof all)[number]) =>
      trackUpdate(resource, undefined, object, { manager: "m", now: "2026-01-01T00:00:00Z" }).metadata.managedFields
    for (const [, same] of Map.groupBy(all, ({ resource, form }) => `${resource.plural} ${form}`))
      if (same[0]!.form !== undefined) for (const other of same) expect(fieldsOf(other)).toEqual(fieldsOf(same[0]!))
  })
})
