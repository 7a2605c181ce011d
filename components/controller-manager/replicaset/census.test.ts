import { expect, test } from "bun:test"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { fromLabels } from "../../../pkg/apimachinery/selectors/labels.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import { ObjectCache } from "../../../pkg/client/object-cache.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { controllerRef } from "../../../pkg/controller/owned.ts"
import { Censuses, censusOf } from "./census.ts"

const pick = <T>(random: () => number, values: readonly T[]): T => values[Math.floor(random() * values.length)]!

function replicaSet(name: string, uid: string): ReplicaSet {
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "web" }] } }
  const spec = { selector: { matchLabels: { app: "web" } }, template }
  return decodeObject(ReplicaSet, { metadata: { name, namespace: "default", uid }, spec }).object as ReplicaSet
}

function randomPod(random: () => number, name: string, owners: readonly (ReplicaSet | undefined)[]): Pod {
  const labels = { app: pick(random, ["web", "web", "other"]), ...pick(random, [{}, { tier: "front" }]) }
  const deletionTimestamp = pick(random, [undefined, undefined, "2026-01-01T00:00:00Z"])
  const conditions = [{ type: "Ready", status: pick(random, ["True", "False"]) }]
  const status = { phase: pick(random, ["Pending", "Running", "Failed"]), conditions }
  const owner = pick(random, owners)
  const ownerReferences = owner === undefined ? undefined : [controllerRef(owner)]
  const metadata = { name, namespace: "default", labels, deletionTimestamp, ownerReferences }
  return decodeObject(Pod, { metadata, spec: { containers: [{ name: "c", image: "web" }] }, status }).object as Pod
}

test("counting only the changed pods gives the same result as counting all pods", () => {
  for (let seed = 1; seed <= 30; seed++) {
    // given two owners, and one that takes the name of the first
    const random = seededRandom(seed).next
    const owners = [replicaSet("web", "a"), replicaSet("other", "b"), replicaSet("web", "c")]
    const templates = [fromLabels({ app: "web" }), fromLabels({ app: "web", tier: "front" })]
    const pods = new ObjectCache<Pod>()
    const censuses = new Censuses()
    for (let step = 0; step < 120; step++) {
      // when pods come, change and go, with another owner or none, and sometimes a template changes
      const name = `p-${Math.floor(random() * 8)}`
      if (random() < 0.2) {
        const last = pods.delete(keyFrom({ namespace: "default", name }))
        if (last !== undefined) censuses.podChanged(last, undefined)
      } else {
        const pod = randomPod(random, name, [undefined, ...owners])
        censuses.podChanged(pod, pods.set(pod))
      }
      const labels = { selector: templates[0]!, template: pick(random, templates) }
      const owner = pick(random, owners)
      // then nothing is missed
      expect(censuses.count(owner, pods, labels)).toEqual(censusOf(pods.controlledBy(owner), labels))
    }
  }
})
