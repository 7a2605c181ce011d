import { expect, test } from "bun:test"
import type { PersistentVolume } from "../../../pkg/api/core/v1/persistentvolume/persistentvolume.ts"
import type { PersistentVolumeClaim } from "../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import type { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { NodeInfo } from "../node-info.ts"
import type { VolumeObjects } from "../volumebinding/volume-objects.ts"
import { volumeZone } from "./volumezone.ts"

/** Counterparts of TestSingleZone and TestMultiZone in plugins/volumezone/volume_zone_test.go. */

const ZONE = "topology.kubernetes.io/zone"
const REGION = "topology.kubernetes.io/region"
const OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
type Labels = Readonly<Record<string, string>>

/** Whether a node with some labels passes for a pod whose one claim is bound to a volume with others. */
function verdict(volume: Labels, node: Labels): string {
  const plugin = volumeZone({
    claim: () => ({ spec: { volumeName: "v" } }) as PersistentVolumeClaim,
    volume: () => ({ metadata: { name: "v", labels: volume } }) as unknown as PersistentVolume,
  } as unknown as VolumeObjects)
  const volumes = [{ name: "a", persistentVolumeClaim: { claimName: "a" } }]
  const pod = { metadata: { namespace: "test" }, spec: { containers: [], volumes } } as unknown as Pod
  const state = new Map<string, unknown>()
  const before = plugin.preFilter!(state as never, pod, [] as never)
  if ("code" in before && before.code === "Skip") return "skipped"
  const info = new NodeInfo({ metadata: { name: "n", labels: node }, spec: {}, status: {} } as unknown as Node)
  return plugin.filter!(state as never, pod, info).code
}

test.each([
  { title: "a volume without labels", volume: {}, node: { [ZONE]: "a" }, wants: "skipped" },
  { title: "a volume in the node's zone", volume: { [ZONE]: "a" }, node: { [ZONE]: "a" }, wants: "Success" },
  { title: "a volume in another zone", volume: { [ZONE]: "b" }, node: { [ZONE]: "a" }, wants: "refused" },
  {
    title: "a volume in several zones, one of them the node's",
    volume: { [ZONE]: "b__a" },
    node: { [ZONE]: "a" },
    wants: "Success",
  },
  { title: "a volume in several other zones", volume: { [ZONE]: "b__c" }, node: { [ZONE]: "a" }, wants: "refused" },
  {
    title: "a volume with the deprecated zone label, and a node with the current one",
    volume: { [OLD_ZONE]: "a" },
    node: { [ZONE]: "a" },
    wants: "Success",
  },
  {
    title: "a volume with a region, and a node without one",
    volume: { [REGION]: "r" },
    node: { [ZONE]: "a" },
    wants: "refused",
  },
  { title: "a volume with a zone, and a node without any", volume: { [ZONE]: "a" }, node: {}, wants: "Success" },
])("$title: $wants", ({ volume, node, wants }) => {
  expect(verdict(volume as Labels, node as Labels)).toBe(wants === "refused" ? "UnschedulableAndUnresolvable" : wants)
})
