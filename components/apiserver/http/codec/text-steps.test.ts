import { expect, test } from "bun:test"
import { writeYaml } from "../../../../pkg/yaml/write.ts"
import { encodingIndentedJson, encodingYaml } from "./text-steps.ts"

const HEAD = { kind: "ConfigMapList", apiVersion: "v1", metadata: { resourceVersion: "7", continue: undefined } }
const itemOf = (i: number) => ({
  metadata: { name: `näme-${i}`, labels: {}, finalizers: [] },
  data: { text: `first\nsecond "${i}"`, "key.10": "1", "key.9": "yes", emoji: "😀 ".repeat(40) },
})

/** Takes all steps; returns how many there were, the most items that one made, and the text. */
function taken(encoding: Generator<undefined, Uint8Array, undefined>, made: () => number) {
  let [steps, most, before] = [0, 0, 0]
  for (;;) {
    const { done, value } = encoding.next()
    steps++
    most = Math.max(most, made() - before)
    before = made()
    if (done === true) return { steps, most, text: new TextDecoder().decode(value) }
  }
}

test.each([0, 1, 2, 25, 26, 300])(
  "a list of %d items as YAML and as indented JSON is the text of the whole",
  (count) => {
    // given
    const items = Array.from({ length: count }, (_, i) => i)
    const whole = { ...HEAD, items: items.map(itemOf) }
    let made = 0
    const counted = (i: number) => (made++, itemOf(i))

    for (const [encoding, text] of [
      [encodingYaml, writeYaml(whole)],
      [encodingIndentedJson, `${JSON.stringify(whole, undefined, 2)}\n`],
    ] as const) {
      // when
      made = 0
      const result = taken(encoding(HEAD, "items", items, counted), () => made)

      // then few items are made in each step
      expect(result.text).toBe(text)
      expect(result.most).toBeLessThanOrEqual(25)
      expect(result.steps).toBeGreaterThanOrEqual(Math.ceil(count / 25))
    }
  },
)
