import { expect, test } from "bun:test"
import { simulatedKubelet } from "../testing/simulated-kubelet.fixtures.ts"

test("a log above ten MiB is rotated, up to five files are kept, and the container continues to write", async () => {
  // given a container that has written much
  await using node = await simulatedKubelet({ web: { logs: ["hello"] } })
  await node.create("web", { containers: [{ name: "c", image: "web" }] })
  const folder = `/var/log/pods/default_web_${node.pod("web")!.metadata.uid}/c`
  const names = async () => [...(await node.runtime.files.list(folder))].sort()
  expect(await names()).toEqual(["0.log"])
  // when it is looked at seven times
  for (let i = 0; i < 7; i++) {
    node.runtime.files.append(`${folder}/0.log`, "x".repeat(11 * 2 ** 20))
    await node.cluster.advance(i === 0 ? 10_000 : 20_000)
  }
  // then there are five files, of which the newest two are as they were written
  const files = await names()
  expect(files).toHaveLength(5)
  expect(files.filter((name) => name.endsWith(".gz"))).toHaveLength(3)
  expect(files[0]).toBe("0.log")
  expect(await node.runtime.files.size(`${folder}/0.log`)).toBeLessThan(100)
})
