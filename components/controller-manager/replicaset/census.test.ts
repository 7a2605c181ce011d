import { expect, test } from "bun:test"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../../pkg/apimachinery/decode.ts"
import { fromLabels } from "../../../pkg/apimachinery/labels.ts"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { Censuses, censusOf } from "./census.ts"

const pick = <T>(random: () => number, values: readonly T[]): T => values[Math.floor(random() * values.length)]!

function randomPod(random: () => number, name: string): Pod {
  const labels = { app: pick(random, ["web", "web", "other"]), ...pick(random, [{}, { tier: "front" }]) }
  const deletionTimestamp = pick(random, [undefined, undefined, "2026-01-01T00:00:00Z"])
  const conditions = [{ type: "Ready", status: pick(random, ["True", "False"]) }]
  const status = { phase: pick(random, ["Pending", "Running", "Failed"]), conditions }
  const metadata = { name, namespace: "default", labels, deletionTimestamp }
  return decodeObject(Pod, { metadata, spec: { containers: [{ name: "c", image: "web" }] }, status }).object as Pod
}

test("a count that remembers the last one gives the same as one that looks at every pod", () => {
  for (let seed = 1; seed <= 30; seed++) {
    // given an owner with some pods that were counted
    const random = seededRandom(seed).next
    const censuses = new Censuses()
    const templates = [fromLabels({ app: "web" }), fromLabels({ app: "web", tier: "front" })]
    let pods: readonly Pod[] = Array.from({ length: 8 }, (_, i) => randomPod(random, `p-${i}`))
    for (let step = 0; step < 60; step++) {
      // when pods change, come and go, and sometimes the owner's template does
      const at = Math.floor(random() * pods.length)
      const made = randomPod(random, `q-${step}`)
      pods = pick(random, [pods, pods.toSpliced(at, 1, made), pods.toSpliced(at, 1), [...pods, made]])
      const labels = { selector: templates[0]!, template: pick(random, templates) }
      // then nothing is missed
      expect(censuses.count("default/web", pods, labels)).toEqual(censusOf(pods, labels))
    }
  }
})
