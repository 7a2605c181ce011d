import { expect, test } from "bun:test"
import { PersistentVolumeClaim } from "../api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "../api/core/v1/pod/pod.ts"
import type { ResourceQuota } from "../api/core/v1/resourcequota/resourcequota.ts"
import { Service } from "../api/core/v1/service/service.ts"
import type { KubeObject, Resource } from "../apimachinery/resource.ts"
import { inScope } from "./quota-scope.ts"

const of = ({ kind, apiVersion }: Resource, spec: object, status: object = {}) =>
  ({ kind, apiVersion, metadata: { name: "x", namespace: "default" }, spec, status }) as KubeObject
const pod = (spec: object, status: object = {}) => of(Pod as Resource, { containers: [], ...spec }, status)
const claim = (spec: object, status: object = {}) => of(PersistentVolumeClaim as Resource, spec, status)
const near = (term: object) => ({ requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone", ...term }] })
const rather = (term: object) => ({
  preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { topologyKey: "zone", ...term } }],
})
const scope = (scopeName: string, operator = "Exists", values?: readonly string[]) => ({
  scopeSelector: { matchExpressions: [{ scopeName, operator, values }] },
})
const crossing = scope("CrossNamespacePodAffinity")
const gold = scope("VolumeAttributesClass", "In", ["gold"])

test.each([
  { title: "a Service without scopes", spec: {}, object: of(Service as Resource, {}), counts: true },
  { title: "a Service with a scope", spec: scope("BestEffort"), object: of(Service as Resource, {}), counts: false },
  {
    title: "a pod with a deadline",
    spec: { scopes: ["Terminating"] },
    object: pod({ activeDeadlineSeconds: 5 }),
    counts: true,
  },
  { title: "a pod near others", spec: crossing, object: pod({ affinity: { podAffinity: near({}) } }), counts: false },
  { title: "a pod without affinity", spec: crossing, object: pod({}), counts: false },
  {
    title: "a pod away from those of a named namespace",
    spec: crossing,
    object: pod({ affinity: { podAntiAffinity: near({ namespaces: ["ns1"] }) } }),
    counts: true,
  },
  {
    title: "a pod that prefers to be near those of selected namespaces",
    spec: crossing,
    object: pod({ affinity: { podAffinity: rather({ namespaceSelector: {} }) } }),
    counts: true,
  },
  { title: "a claim of the class", spec: gold, object: claim({ volumeAttributesClassName: "gold" }), counts: true },
  {
    title: "a claim of another class",
    spec: gold,
    object: claim({ volumeAttributesClassName: "silver" }),
    counts: false,
  },
  {
    title: "a claim that leaves the class",
    spec: gold,
    object: claim({ volumeAttributesClassName: "silver" }, { currentVolumeAttributesClassName: "gold" }),
    counts: true,
  },
  {
    title: "a claim without a class in a quota of those without",
    spec: scope("VolumeAttributesClass", "DoesNotExist"),
    object: claim({}),
    counts: true,
  },
  { title: "a claim in a quota of pods", spec: scope("PriorityClass"), object: claim({}), counts: false },
])("whether a quota counts $title: $counts", ({ spec, object, counts }) => {
  expect(inScope({ spec } as unknown as ResourceQuota, object)).toBe(counts)
})

test("tens of thousands of scopes and values are read once, and not for each pod", () => {
  // given a quota that names its scopes again and again
  let reads = 0
  const counted = <T extends object>(list: T[]) =>
    new Proxy(list, {
      get(target, name) {
        if (typeof name === "string" && /^\d+$/.test(name)) reads++
        return Reflect.get(target, name) as unknown
      },
    })
  const spec = {
    scopes: Array.from({ length: 20_000 }, () => "Terminating"),
    scopeSelector: {
      matchExpressions: counted(
        Array.from({ length: 20_000 }, () => ({ scopeName: "PriorityClass", operator: "In", values: ["c1", "c2"] })),
      ),
    },
  }
  const quota = { metadata: {}, spec } as unknown as ResourceQuota
  const pods = Array.from({ length: 100 }, (_, i) => pod({ activeDeadlineSeconds: 5, priorityClassName: `c${i}` }))
  // when it is asked for a hundred pods
  const found = pods.filter((one) => inScope(quota, one))
  // then each scope was read once
  expect(found).toEqual([pods[1]!, pods[2]!])
  expect(reads).toBe(20_000)
})
