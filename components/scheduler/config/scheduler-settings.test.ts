/** The cases of upstream's validation_test.go, validation_pluginargs_test.go and default_plugins_test.go. */
import { describe, expect, test } from "bun:test"
import { decodeMessage, typed } from "../../../pkg/apimachinery/decoding/decode.ts"
import { KubeSchedulerConfiguration } from "./scheduler-configuration.ts"
import { readSchedulerSettings, schedulerFaults } from "./scheduler-settings.ts"

type Json = Readonly<Record<string, unknown>>
const HEAD = { apiVersion: "kubescheduler.config.k8s.io/v1", kind: "KubeSchedulerConfiguration" }
const read = (value: Json) => readSchedulerSettings(JSON.stringify({ ...HEAD, ...value }), "s.yaml")

/** The fields that are refused, in their order. */
function refusedFields(value: Json): readonly string[] {
  try {
    read(value)
    return []
  } catch (err) {
    return (err as Error).message.split("\n").map((line) => /^s\.yaml:1: ([^:]*): /.exec(line)?.[1] ?? line)
  }
}

const disabledSort = { disabled: [{ name: "*" }] }
const two = (first: Json = {}, second: Json = {}) => ({
  profiles: [
    { schedulerName: "me", ...first },
    { schedulerName: "other", ...second },
  ],
})
const withArgs = (name: string, args: Json) => ({ profiles: [{ pluginConfig: [{ name, args }] }] })
const ARGS = "profiles[0].pluginConfig[0].args"

describe("a KubeSchedulerConfiguration", () => {
  test.each<[string, Json, readonly string[]]>([
    ["with nothing", {}, []],
    ["with two profiles", two({ percentageOfNodesToScore: 35 }), []],
    ["with a parallelism of 0", { parallelism: 0 }, ["parallelism"]],
    [
      "with another lock than leases",
      { leaderElection: { resourceLock: "configmap" } },
      ["leaderElection.resourceLock"],
    ],
    [
      "with a lease shorter than its renewal",
      { leaderElection: { leaseDuration: "5s", renewDeadline: "10s" } },
      ["leaderElection.leaseDuration"],
    ],
    ["with a negative burst", { clientConnection: { burst: -1 } }, ["clientConnection.burst"]],
    ["with 101 % of the nodes", { percentageOfNodesToScore: 101 }, ["percentageOfNodesToScore"]],
    ["with -1 % of the nodes", { percentageOfNodesToScore: -1 }, ["percentageOfNodesToScore"]],
    ["with a second profile without a name", two({}, { schedulerName: "" }), ["profiles[1].schedulerName"]],
    ["with a name twice", two({ schedulerName: "other" }), ["profiles[1].schedulerName"]],
    [
      "with 101 % of the nodes of a profile",
      two({}, { percentageOfNodesToScore: 101 }),
      ["profiles[1].percentageOfNodesToScore"],
    ],
    ["with no first back-off", { podInitialBackoffSeconds: 0 }, ["podInitialBackoffSeconds"]],
    [
      "with a longest back-off below the first",
      { podInitialBackoffSeconds: 5, podMaxBackoffSeconds: 4 },
      ["podMaxBackoffSeconds"],
    ],
    [
      "with queues that are sorted in two ways",
      two({}, { plugins: { queueSort: { ...disabledSort, enabled: [{ name: "PrioritySort" }] } } }),
      ["profiles[1].plugins.queueSort"],
    ],
    ["with a weight of -1", { extenders: [{ prioritizeVerb: "p", weight: -1 }] }, ["extenders[0].weight"]],
    [
      "with a resource of an extender twice",
      { extenders: [{ managedResources: [{ name: "example.com/foo" }, { name: "example.com/foo" }] }] },
      ["extenders[0].managedResources[1].name"],
    ],
    [
      "with a resource of an extender that is none",
      { extenders: [{ managedResources: [{ name: "cpu" }] }] },
      ["extenders[0].managedResources[0].name"],
    ],
    ["with an extender that has no URL", { extenders: [{ filterVerb: "filter" }] }, ["extenders[0].urlPrefix"]],
    ["with two extenders that bind", { extenders: [{ bindVerb: "a" }, { bindVerb: "b" }] }, ["extenders"]],
    [
      "with arguments twice",
      { profiles: [{ pluginConfig: [{ name: "x" }, { name: "x" }] }] },
      ["profiles[0].pluginConfig[1]"],
    ],
    [
      "with arguments of another plugin",
      withArgs("DefaultPreemption", { kind: "InterPodAffinityArgs" }),
      [`${ARGS}.kind`],
    ],
    [
      "with plugins that were removed",
      { profiles: [{ plugins: { score: { enabled: [{ name: "AzureDiskLimits" }, { name: "EBSLimits" }] } } }] },
      ["profiles[0].plugins.score.enabled[0]", "profiles[0].plugins.score.enabled[1]"],
    ],
    [
      "with a plugin twice",
      { profiles: [{ plugins: { filter: { enabled: [{ name: "NodeName" }, { name: "NodeName" }] } } }] },
      ["profiles[0].plugins.filter.enabled[1].name"],
    ],
    [
      "with a plugin at a point that it does not extend",
      { profiles: [{ plugins: { bind: { enabled: [{ name: "NodeName" }] } } }] },
      ["profiles[0].plugins.bind.enabled[0].name"],
    ],
    [
      "with nothing that binds",
      { profiles: [{ plugins: { bind: { disabled: [{ name: "*" }] } } }] },
      ["profiles[0].plugins.bind"],
    ],
    [
      "with nothing that sorts the queue",
      { profiles: [{ plugins: { queueSort: disabledSort } }] },
      ["profiles[0].plugins.queueSort"],
    ],
  ])("%s is refused at its faulty fields", (_what, value, fields) => {
    expect(refusedFields(value)).toEqual(fields)
  })

  test("is refused where the program that made it left out the Lease", () => {
    const value = decodeMessage(typed(KubeSchedulerConfiguration), {}).object as KubeSchedulerConfiguration
    const leaderElection = { ...value.leaderElection, resourceName: "", resourceNamespace: "" }
    expect(schedulerFaults({ ...value, leaderElection }).map(({ field }) => field)).toEqual([
      "leaderElection.resourceNamespace",
      "leaderElection.resourceName",
    ])
  })

  test("names the plugin that was meant", () => {
    expect(() => read({ profiles: [{ plugins: { score: { enabled: [{ name: "NodeAfinity" }] } } }] })).toThrow(
      's.yaml:1: profiles[0].plugins.score.enabled[0].name: Invalid value: "NodeAfinity": no such plugin; did you mean ' +
        "NodeAffinity?",
    )
  })
})

const shape = (...points: readonly [number, number][]) => ({
  scoringStrategy: {
    type: "RequestedToCapacityRatio",
    requestedToCapacityRatio: { shape: points.map(([utilization, score]) => ({ utilization, score })) },
  },
})
const weights = (type: string, ...all: readonly number[]) => ({
  scoringStrategy: { type, resources: all.map((weight, i) => ({ name: `r${i}`, weight })) },
})
const constraint = (more: Json = {}) => ({
  maxSkew: 1,
  topologyKey: "node",
  whenUnsatisfiable: "ScheduleAnyway",
  ...more,
})
const constraints = (...defaultConstraints: readonly Json[]) => ({ defaultingType: "List", defaultConstraints })

describe("the arguments of", () => {
  test.each<[string, string, Json, readonly string[]]>([
    ["DefaultPreemption", "valid", { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 20 }, []],
    ["DefaultPreemption", "-1 %", { minCandidateNodesPercentage: -1 }, ["minCandidateNodesPercentage"]],
    ["DefaultPreemption", "900 %", { minCandidateNodesPercentage: 900 }, ["minCandidateNodesPercentage"]],
    ["DefaultPreemption", "-1 nodes", { minCandidateNodesAbsolute: -1 }, ["minCandidateNodesAbsolute"]],
    [
      "DefaultPreemption",
      "no nodes",
      { minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0 },
      ["minCandidateNodesPercentage", "minCandidateNodesAbsolute"],
    ],
    ["InterPodAffinity", "valid", { hardPodAffinityWeight: 10 }, []],
    ["InterPodAffinity", "a negative weight", { hardPodAffinityWeight: -1 }, ["hardPodAffinityWeight"]],
    ["InterPodAffinity", "too much weight", { hardPodAffinityWeight: 101 }, ["hardPodAffinityWeight"]],
    ["PodTopologySpread", "valid", constraints(constraint(), constraint({ topologyKey: "zone" })), []],
    ["PodTopologySpread", "maxSkew 0", constraints(constraint({ maxSkew: 0 })), ["defaultConstraints[0].maxSkew"]],
    [
      "PodTopologySpread",
      "no key",
      constraints(constraint({ topologyKey: "" })),
      ["defaultConstraints[0].topologyKey"],
    ],
    [
      "PodTopologySpread",
      "no action",
      constraints(constraint({ whenUnsatisfiable: "" })),
      ["defaultConstraints[0].whenUnsatisfiable"],
    ],
    [
      "PodTopologySpread",
      "another action",
      constraints(constraint({ whenUnsatisfiable: "unknown action" })),
      ["defaultConstraints[0].whenUnsatisfiable"],
    ],
    ["PodTopologySpread", "a constraint twice", constraints(constraint(), constraint()), ["defaultConstraints[1]"]],
    [
      "PodTopologySpread",
      "a selector",
      constraints(constraint({ labelSelector: { matchLabels: { foo: "bar" } } })),
      ["defaultConstraints[0].labelSelector"],
    ],
    [
      "PodTopologySpread",
      "a list and the built-in",
      { ...constraints(constraint()), defaultingType: "System" },
      ["defaultingType"],
    ],
    ["PodTopologySpread", "another type", { defaultingType: "Unknown" }, ["defaultingType"]],
    [
      "NodeResourcesBalancedAllocation",
      "a resource twice",
      { resources: [{ name: "cpu" }, { name: "cpu" }] },
      ["resources[1].name"],
    ],
    [
      "NodeResourcesBalancedAllocation",
      "other weights than 1",
      {
        resources: [
          { name: "cpu", weight: 2 },
          { name: "memory", weight: 1 },
        ],
      },
      ["resources[0].weight"],
    ],
    [
      "NodeAffinity",
      "an invalid key",
      {
        addedAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: "invalid/label/key", operator: "In", values: ["a"] }] }],
          },
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, preference: { matchFields: [{ key: "metadata.name", operator: "In", values: ["a", "b"] }] } },
          ],
        },
      },
      [
        "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key",
        "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields[0].values",
      ],
    ],
    ["VolumeBinding", "no time", { bindTimeoutSeconds: 0 }, []],
    ["VolumeBinding", "a negative time", { bindTimeoutSeconds: -10 }, ["bindTimeoutSeconds"]],
    ["VolumeBinding", "a shape", { shape: [{ utilization: 1, score: 1 }] }, ["shape"]],
    [
      "NodeResourcesFit",
      "an empty resource",
      { ignoredResources: [""] },
      ["ignoredResources[0]", "ignoredResources[0]"],
    ],
    ["NodeResourcesFit", "two slashes", { ignoredResources: ["example.com/a/b"] }, ["ignoredResources[0]"]],
    ["NodeResourcesFit", "groups", { ignoredResourceGroups: ["example.com"] }, []],
    [
      "NodeResourcesFit",
      "a group with a slash",
      { ignoredResourceGroups: ["example.com/a"] },
      ["ignoredResourceGroups[0]"],
    ],
    ["NodeResourcesFit", "another strategy", weights("Invalid"), [`scoringStrategy.type`]],
    [
      "NodeResourcesFit",
      "no ratio",
      { scoringStrategy: { type: "RequestedToCapacityRatio" } },
      ["scoringStrategy.requestedToCapacityRatio"],
    ],
    [
      "NodeResourcesFit",
      "a ratio of another strategy",
      { scoringStrategy: { ...shape([0, 5]).scoringStrategy, type: "MostAllocated" } },
      ["scoringStrategy.requestedToCapacityRatio"],
    ],
    ["NodeResourcesFit", "weights", weights("LeastAllocated", 1, 100), []],
    [
      "NodeResourcesFit",
      "wrong weights",
      weights("MostAllocated", -1, 101),
      ["scoringStrategy.resources[0].weight", "scoringStrategy.resources[1].weight"],
    ],
    ["NodeResourcesFit", "no points", shape(), ["scoringStrategy.requestedToCapacityRatio.shape"]],
    ["NodeResourcesFit", "points", shape([30, 3], [60, 6], [90, 9]), []],
    ["NodeResourcesFit", "-10 %", shape([-10, 3]), ["scoringStrategy.requestedToCapacityRatio.shape[0].utilization"]],
    ["NodeResourcesFit", "101 %", shape([101, 3]), ["scoringStrategy.requestedToCapacityRatio.shape[0].utilization"]],
    [
      "NodeResourcesFit",
      "points in disorder",
      shape([10, 3], [30, 3], [20, 3]),
      ["scoringStrategy.requestedToCapacityRatio.shape[2].utilization"],
    ],
    ["NodeResourcesFit", "a score of 11", shape([10, 11]), ["scoringStrategy.requestedToCapacityRatio.shape[0].score"]],
    ["DynamicResources", "no search", { filterTimeout: "-1s" }, ["filterTimeout"]],
    ["DynamicResources", "a short wait", { bindingTimeout: "500ms" }, ["bindingTimeout"]],
    ["DynamicResources", "an unknown field", { filterTimeOut: "1s" }, ["filterTimeOut"]],
  ])("%s with %s are refused at their faulty fields", (plugin, _what, args, fields) => {
    expect(refusedFields(withArgs(plugin, args))).toEqual(fields.map((field) => `${ARGS}.${field}`))
  })

  test("plugins have upstream's defaults", () => {
    const [profile] = read({}).profiles
    expect(profile!.args).toMatchObject({
      DefaultPreemption: { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 },
      InterPodAffinity: { hardPodAffinityWeight: 1 },
      NodeResourcesFit: {
        scoringStrategy: {
          type: "LeastAllocated",
          resources: [
            { name: "cpu", weight: 1 },
            { name: "memory", weight: 1 },
          ],
        },
      },
      VolumeBinding: { bindTimeoutSeconds: 600 },
      DynamicResources: { filterTimeout: "10s", bindingTimeout: "10m" },
    })
  })
})

describe("the plugins of a profile", () => {
  const enabled = (plugins: Json) => read({ profiles: [{ plugins }] }).profiles[0]!.plugins

  test("are upstream's by default, with its weights", () => {
    const { enabled: points, weights } = enabled({})
    expect(points.filter).toEqual([
      "NodeUnschedulable",
      "NodeName",
      "TaintToleration",
      "NodeAffinity",
      "NodePorts",
      "NodeResourcesFit",
      "VolumeRestrictions",
      "NodeVolumeLimits",
      "VolumeBinding",
      "VolumeZone",
      "PodTopologySpread",
      "InterPodAffinity",
      "DynamicResources",
      "NodeDeclaredFeatures",
    ])
    expect(points.postFilter).toEqual(["DynamicResources", "DefaultPreemption"])
    expect([points.queueSort, points.bind]).toEqual([["PrioritySort"], ["DefaultBinder"]])
    expect(points.score.map((name) => `${name} ${weights.get(name)}`)).toEqual([
      "TaintToleration 3",
      "NodeAffinity 2",
      "NodeResourcesFit 1",
      "VolumeBinding 1",
      "PodTopologySpread 2",
      "InterPodAffinity 2",
      "DynamicResources 2",
      "NodeResourcesBalancedAllocation 1",
      "ImageLocality 1",
    ])
  })

  test("are none at a point where all are disabled, but those that are enabled there", () => {
    const { enabled: points, weights } = enabled({
      score: { disabled: [{ name: "*" }], enabled: [{ name: "ImageLocality", weight: 7 }] },
    })
    expect([points.score, weights.get("ImageLocality")]).toEqual([["ImageLocality"], 7])
    expect(points.filter).toContain("NodeName")
  })

  test("are off at every point where they are disabled by multiPoint", () => {
    const { enabled: points } = enabled({ multiPoint: { disabled: [{ name: "TaintToleration" }] } })
    expect(points.filter).not.toContain("TaintToleration")
    expect(points.score).not.toContain("TaintToleration")
  })

  test("come first at a point where they are configured beside multiPoint", () => {
    const { enabled: points, weights } = enabled({
      multiPoint: { enabled: [{ name: "NodeAffinity", weight: 9 }] },
      score: { enabled: [{ name: "ImageLocality", weight: 5 }] },
      filter: { disabled: [{ name: "NodePorts" }] },
    })
    expect(points.score.slice(0, 3)).toEqual(["ImageLocality", "TaintToleration", "NodeAffinity"])
    expect([weights.get("ImageLocality"), weights.get("NodeAffinity")]).toEqual([5, 9])
    expect(points.filter).not.toContain("NodePorts")
    expect(points.preFilter).toContain("NodePorts")
  })
})
