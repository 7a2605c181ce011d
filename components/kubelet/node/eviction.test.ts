import { describe, expect, test } from "bun:test"
import type { Image } from "../../../pkg/cri/image.ts"
import { evictionOrder } from "./eviction.ts"
import { remains } from "../pod/ending/garbage.ts"
import { imagesToRemove } from "../images/image-garbage.ts"
import { podOf, runOf, runtimeOf, sandboxOf } from "../testing/pod.ts"

const pod = (name: string, priority = 0) => podOf({ priority }, { metadata: { name } })

describe("under pressure the kubelet", () => {
  test("evicts first pods above their requests, then those of low priority, then those furthest above", () => {
    const order = evictionOrder([
      { pod: pod("within"), used: 5, requested: 10 },
      { pod: pod("little"), used: 11, requested: 10 },
      { pod: pod("much"), used: 100, requested: 10 },
      { pod: pod("important", 100), used: 1000, requested: 10 },
      { pod: pod("system", 2_000_000_000), used: 1000, requested: 0 },
    ])
    expect(order.map(({ pod: { metadata } }) => metadata.name)).toEqual(["much", "little", "important", "within"])
  })

  test("removes unused images, the longest unused first, and no more than needed", () => {
    const image = (id: string, more: Partial<Image> = {}): Image => ({
      id,
      repoTags: [`${id}:1`],
      repoDigests: [],
      size: 100,
      username: "",
      pinned: false,
      ...more,
    })
    const images = [image("young"), image("old"), image("older"), image("used"), image("pause", { pinned: true })]
    const lastUsed = new Map([
      ["young", 900_000],
      ["old", 500_000],
      ["older", 100_000],
      ["used", 0],
    ])
    const remove = (bytes: number) =>
      imagesToRemove(images, bytes, new Set(["used:1"]), lastUsed, 1_000_000).map(({ id }) => id)
    expect([remove(0), remove(50), remove(150), remove(1e6)]).toEqual([
      [],
      ["older"],
      ["older", "old"],
      ["older", "old"],
    ])
  })

  test("removes runs of containers except the newest two, and sandboxes without containers", () => {
    const of = podOf({})
    const run = (id: string, sandboxId: string) => runOf(of, "c", { id, sandboxId, exitCode: 1 })
    const left = remains(
      runtimeOf(
        [run("3", "s2"), run("2", "s1"), run("1", "s1"), run("0", "s0")],
        [sandboxOf({ id: "s2" }), sandboxOf({ id: "s1", ready: false }), sandboxOf({ id: "s0", ready: false })],
      ),
    )
    expect([left.containers.map(({ id }) => id), left.sandboxes.map(({ id }) => id)]).toEqual([["1", "0"], ["s0"]])
  })
})
