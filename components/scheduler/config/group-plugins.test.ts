/** The plugins of PodGroups in a configuration. Cases of upstream's default_plugins_test.go and framework_test.go. */
import { describe, expect, test } from "bun:test"
import { DEFAULT_FEATURES, featuresOf, type Features } from "../../../pkg/component/features.ts"
import { readSchedulerSettings } from "./scheduler-settings.ts"

type Json = Readonly<Record<string, unknown>>
const GROUPS = { GenericWorkload: true, GangScheduling: true, TopologyAwareWorkloadScheduling: true }
const read = (plugins: Json, features: Features, pluginConfig: readonly Json[] = []) =>
  readSchedulerSettings(
    JSON.stringify({
      apiVersion: "kubescheduler.config.k8s.io/v1",
      kind: "KubeSchedulerConfiguration",
      profiles: [{ plugins, pluginConfig }],
    }),
    "s.yaml",
    { own: [], features },
  ).profiles[0]!.plugins
/** The names of the plugins of groups at each of their points. */
function groupPlugins(plugins: Json, gates: Readonly<Record<string, boolean>>): string {
  const { enabled, weights } = read(plugins, featuresOf(gates))
  const at = (point: "preEnqueue" | "permit" | "placementGenerate" | "placementScore") =>
    enabled[point].filter((name) => /Gang|Placement|PodGroup/.test(name)).join(" ")
  const weight = weights.get("PodGroupPodsCount")
  return [at("preEnqueue"), at("permit"), at("placementGenerate"), `${at("placementScore")}:${weight ?? ""}`].join("|")
}

const GANG = "GangScheduling|GangScheduling"
const TOPOLOGY = "TopologyPlacementGenerator|PodGroupPodsCount:1"
const off = (name: string) => ({ disabled: [{ name }] })
const on = (name: string, weight?: number) => ({ enabled: [{ name, ...(weight === undefined ? {} : { weight }) }] })

describe("the plugins of groups", () => {
  test.each<[what: string, gates: Readonly<Record<string, boolean>>, plugins: Json, wants: string]>([
    ["none without a gate", {}, {}, "|||:"],
    ["none with the kinds alone", { GenericWorkload: true }, {}, "|||:"],
    ["GangScheduling with its gate", { GenericWorkload: true, GangScheduling: true }, {}, `${GANG}||:`],
    [
      "those of topologies with their gate",
      { GenericWorkload: true, TopologyAwareWorkloadScheduling: true },
      {},
      `||${TOPOLOGY}`,
    ],
    ["all with both gates", GROUPS, {}, `${GANG}|${TOPOLOGY}`],
    ["not one that multiPoint disables", GROUPS, { multiPoint: off("GangScheduling") }, `||${TOPOLOGY}`],
    ["not one that its point disables", GROUPS, { permit: off("GangScheduling") }, `GangScheduling||${TOPOLOGY}`],
    [
      "none at a point where all are disabled",
      GROUPS,
      { placementScore: off("*") },
      `${GANG}|TopologyPlacementGenerator|:1`,
    ],
    [
      "one that is enabled without its gate",
      { GenericWorkload: true },
      { multiPoint: on("GangScheduling") },
      `${GANG}||:`,
    ],
    [
      "with the weight of multiPoint",
      GROUPS,
      { multiPoint: on("PodGroupPodsCount", 7) },
      `${GANG}|TopologyPlacementGenerator|PodGroupPodsCount:7`,
    ],
    [
      "with the weight of their point before that",
      GROUPS,
      { placementScore: on("PodGroupPodsCount", 5), multiPoint: on("PodGroupPodsCount", 7) },
      `${GANG}|TopologyPlacementGenerator|PodGroupPodsCount:5`,
    ],
    ["with the weight 1 for 0", GROUPS, { placementScore: on("PodGroupPodsCount", 0) }, `${GANG}|${TOPOLOGY}`],
  ])("are %s", (_what, gates, plugins, wants) => {
    expect(groupPlugins(plugins, gates)).toBe(wants)
  })

  test.each<[plugins: Json, features: Features, message: string]>([
    [{ score: on("PodGroupPodsCount") }, featuresOf(GROUPS), "does not extend score plugin: it extends placementScore"],
    [
      { placementGenerate: on("GangScheduling") },
      featuresOf(GROUPS),
      "does not extend placementGenerate plugin: it extends preEnqueue, permit",
    ],
    [
      { placementScore: on("NodeName") },
      featuresOf(GROUPS),
      "does not extend placementScore plugin: it extends filter",
    ],
    [{ multiPoint: on("GangSheduling") }, featuresOf(GROUPS), "no such plugin; did you mean GangScheduling?"],
    [{ multiPoint: on("GangScheduling") }, DEFAULT_FEATURES, "give --feature-gates GenericWorkload=true"],
  ])("are refused where they have no place: %j", (plugins, features, message) => {
    expect(() => read(plugins, features)).toThrow(message)
  })

  test.each(["GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"])(
    "have no arguments: those of %s are refused",
    (name) => {
      expect(() => read({}, featuresOf(GROUPS), [{ name, args: { minCount: 1 } }])).toThrow(
        'profiles[0].pluginConfig[0].name: Invalid value: "' +
          name +
          '": this plugin has no arguments: leave the entry out',
      )
    },
  )
})
